"""One Chromium for all tests of a process; every module of tests finds it as if it were new."""

from __future__ import annotations

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-quic", "--no-first-run",
)  # fmt: skip
AS_NEW = (
    ("Network.clearBrowserCookies", {}),
    ("Network.setCacheDisabled", {"cacheDisabled": False}),
    ("Emulation.clearDeviceMetricsOverride", {}),
    ("Emulation.setEmulatedMedia", {"media": "", "features": []}),
    ("Emulation.setScriptExecutionDisabled", {"value": False}),
    ("Emulation.setScrollbarsHidden", {"hidden": False}),
)


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Start Chromium with a profile of its own, or skip."""
    if not (CHROMIUM and DRIVER):
        pytest.skip("Chromium and chromedriver are not installed: NO PAGE WAS LOOKED AT")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(90)
    driver.set_script_timeout(120)
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def browser(chromium):
    """Give the browser without cookies, zoom, colours and messages of the tests before."""
    chromium.get("about:blank")
    chromium.implicitly_wait(0)
    for command, given in AS_NEW:
        chromium.execute_cdp_cmd(command, given)
    for log in ("browser", "performance"):
        chromium.get_log(log)
    return chromium
