"""Somebody at a browser, who fills in forms and presses buttons; and a look at a page."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

AXE = Path(__file__).parents[2] / ".axe" / "package" / "axe.min.js"
TOO_WIDE = """
return [...document.querySelectorAll('body *:not(.skip):not(.wide *):not(figure *)')].filter(
  e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 90))
"""
BUTTON = """
const found = [...document.querySelectorAll('main button, main a.button')].find(
  e => e.innerText.trim().startsWith(arguments[0]) && e.checkVisibility({visibilityProperty: true}))
if (found) found.scrollIntoView()
return found
"""
COLOURS = "runOnly: {type: 'rule', values: ['color-contrast', 'link-in-text-block']}, "
"""What axe looks at again in the dark: all else is as it was in the light."""
SHOTS = os.environ.get("SFUMATO_SHOTS")


class Hand:
    """Somebody at a browser, who fills in forms and presses buttons."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address

    def go(self, path):
        self.browser.get(path if path.startswith("http") else self.address + path)
        return self

    def fill(self, **fields):
        from selenium.common.exceptions import StaleElementReferenceException

        for name, value in fields.items():
            for _ in range(50):
                try:
                    self._fill(name, value)
                    break
                except StaleElementReferenceException:  # the page has drawn it anew meanwhile
                    time.sleep(0.1)
            else:
                raise AssertionError(f"{name!r} does not stay at {self.browser.current_url}")
        return self

    def _fill(self, name, value):
        field = self.browser.find_element(
            "css selector", f"main [name='{name}']:not([type=hidden])"
        )
        if field.tag_name == "select":
            from selenium.webdriver.support.ui import Select

            Select(field).select_by_visible_text(value)
        else:
            field.clear()
            field.send_keys(value)

    def press(self, words):
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + 15
        while time.monotonic() < end:
            try:
                if button := self.browser.execute_script(BUTTON, words):
                    button.click()
                    return self
            except StaleElementReferenceException:  # the page has drawn it anew meanwhile
                pass
            time.sleep(0.1)
        raise AssertionError(
            f"no button {words!r} at {self.browser.current_url}: {self.text[:500]}"
        )

    def leave_by(self, words, seconds=60):
        """Press a button that leads to another page, and be there; the next step may be to go."""
        from selenium.common.exceptions import WebDriverException

        page = self.browser.find_element("tag name", "html")
        self.press(words)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                page.is_enabled()
            except WebDriverException:  # stale, or of no document any more
                return self
            time.sleep(0.02)
        raise AssertionError(f"{words!r} led nowhere from {self.browser.current_url}")

    @property
    def text(self):
        for _ in range(150):
            shown = self.browser.execute_script(
                "const main = document.querySelector('main'); return main && main.innerText"
            )
            if shown is not None:
                return shown
            time.sleep(0.1)
        raise AssertionError(f"no page stays at {self.browser.current_url}")

    def until(self, words, seconds=60):
        end, seen = time.monotonic() + seconds, ""
        while time.monotonic() < end:
            try:
                seen = self.text
            except Exception:  # noqa: BLE001 - the page is just being replaced
                seen = ""
            if words in seen:
                return self
            time.sleep(0.1)
        raise AssertionError(f"{words!r} never came: {seen[:400]}")


def look(hand, name):
    """Look at a page wide and narrow, light and dark: nothing sticks out, nothing is amiss."""
    browser = hand.browser
    found = []
    screens = {"wide": (1280, 900), "narrow": (320, 700)}
    browser.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": bool(SHOTS)})
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        for screen, (width, height) in screens.items():
            if not SHOTS and screen != "narrow":
                continue
            metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            if screen == "narrow":
                assert browser.execute_script(TOO_WIDE) == [], name
            if SHOTS:
                whole = browser.execute_cdp_cmd(
                    "Page.captureScreenshot", {"captureBeyondViewport": True}
                )
                Path(SHOTS, f"{name}-{scheme}-{screen}.png").write_bytes(
                    base64.b64decode(whole["data"])
                )
        if AXE.exists():
            if not browser.execute_script("return 'axe' in window"):
                browser.execute_script(AXE.read_text(encoding="utf-8"))
            told = browser.execute_async_script(
                f"const done = arguments[0]; axe.run(document, {{{COLOURS * (scheme == 'dark')}"
                "resultTypes: ['violations']})"
                ".then(r => done(r.violations.map(v => [v.id, v.nodes.map(n => n.html)[0]])))"
            )
            found += [(scheme, *one) for one in told]
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found == [], (name, found)
