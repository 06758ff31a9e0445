"""One server in this process, with an owner, an analyst who is granted, and one who is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from sfumato import examples
from sfumato.govern.office.entry import make_token, open_session
from sfumato.govern.office.grants import grant
from sfumato.govern.office.people import add_person
from sfumato.requests.service import DatasetRequest
from sfumato.service.access import Caller
from sfumato.service.door import COOKIE, Door
from sfumato.service.registration import register_for
from sfumato.service.settings import Settings

from .hand import Hand
from .live import serving

ORIGIN = {"Origin": "https://testserver", "Sec-Fetch-Site": "same-origin"}


@dataclass
class Site:
    door: Door
    people: dict[str, Any]
    tokens: dict[str, str]
    running: TestClient

    @property
    def house(self):
        return self.door.house

    def client(self, role=None, *, token=False, html=False):
        """A client of somebody: a browser with a cookie, or a program with a token."""
        made = TestClient(self.door, base_url="https://testserver", follow_redirects=False)
        made.portal = self.running.portal
        made.headers.update(ORIGIN)
        made.headers["Accept"] = "text/html" if html else "application/json"
        if role == "operator":
            made.headers["Authorization"] = f"Bearer {self.house.operator}"
        elif role is not None and token:
            made.headers["Authorization"] = f"Bearer {self.tokens[role]}"
        elif role is not None:
            secret = open_session(self.house.office, self.people[role].id)
            made.cookies.set(COOKIE, secret, domain="testserver.local")
            made.headers["Cookie"] = f"{COOKIE}={secret}"
        return made

    def register(self, name, rows=300, *, budget="1000", seed=1, **told):
        """Register made-up patients under a name, and grant them to the analyst and the owner."""
        example = examples.patients(rows, seed)
        folder = self.house.settings.path / "data" / name
        folder.mkdir(parents=True)
        example.write(folder)
        (folder / "patients.yaml").rename(folder / "schema.yaml")
        wanted = DatasetRequest.of({
            "name": name, "source": f"data/{name}/patients.csv", "purposes": ["care", "research"],
            "told": {"title": f"The {name}", "why": "to test", "subject": "name", "tick": 0.02,
                     **told},
            "unit": {"unit": "row"},
            "owner": {"budget": {"budget": budget, "budget_delta": "1e-6"}},
        })  # fmt: skip
        register_for(self.house, Caller(), wanted, owner=self.people["owner"].id)
        for role in ("analyst", "owner"):
            grant(self.house.office, self.people[role].id, name, "research")
        return name


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    settings = Settings(
        folder=str(tmp_path_factory.mktemp("site")), rate=1e9, deletions=0.2, hosts=("testserver",)
    )
    door = Door(settings)
    office = door.house.office
    people = {
        "owner": add_person(office, "olga", "owner"),
        "analyst": add_person(office, "ann", "analyst"),
        "stranger": add_person(office, "sam", "analyst"),
    }
    scopes = {"owner": ["ask", "own"], "analyst": ["ask"], "stranger": ["ask"]}
    tokens = {
        role: make_token(office, person, "tests", scopes[role], 9)[1]
        for role, person in people.items()
    }
    with TestClient(door, base_url="https://testserver") as running:
        made = Site(door, people, tokens, running)
        made.register("people")
        yield made


@pytest.fixture
def ask(site):
    """Ask a question as the analyst, and wait for its answer."""

    def asked(question, epsilon="0.1", dataset="people", role="analyst", **more):
        body = {"question": question, "price": {"epsilon": epsilon}, **more}
        return site.client(role, token=True).post(
            f"/api/v1/datasets/{dataset}/questions", json=body, headers={"Prefer": "wait=10"}
        )

    return asked


# -- in a browser -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser(browser):
    browser.implicitly_wait(15)
    return browser


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "site"
    with serving(folder, "--example", "--deletions", "0.2") as found:
        yield found


@pytest.fixture(scope="module")
def hand(browser, live):
    found = Hand(browser, live.address)
    found.go(live.link()).fill(name="Olga", password="a long password", again="a long password")
    found.press("Create account")
    found.until("Patients (made up)")
    return found
