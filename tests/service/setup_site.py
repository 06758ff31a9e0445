"""A folder for a server: a dataset, and analysts with tokens; no server is started."""

from __future__ import annotations

from sfumato import examples
from sfumato.govern.office.entry import make_token
from sfumato.govern.office.grants import grant
from sfumato.govern.office.people import add_person, list_people
from sfumato.requests.service import DatasetRequest
from sfumato.service.access import NOBODY
from sfumato.service.house import House
from sfumato.service.registration import register_for
from sfumato.service.settings import Settings


def make_site(
    folder, *, ledger="", analysts=1, budget="1000", rows=200, tick=0.01, per_analyst=None
):
    """Make the folder; give the settings and the tokens of the analysts."""
    settings = Settings(folder=str(folder), ledger=ledger, rate=1e9)
    house = House(settings)
    add_table(settings, "people", examples.patients(rows, 1), budget=budget, tick=tick,
              per_analyst=per_analyst, house=house)  # fmt: skip
    tokens = []
    for number in range(analysts):
        person = add_person(house.office, f"analyst {number}", "analyst")
        grant(house.office, person.id, "people", "research")
        tokens.append(make_token(house.office, person, "load", ["ask"], 1)[1])
    house.close()
    return settings, tokens


def add_table(
    settings, name, example, *, budget="1000000", tick=0.01, per_analyst=None, house=None
):
    """Register made-up patients under a name, and grant them to whoever has an account."""
    own = house or House(settings)
    data = settings.path / "data" / name
    data.mkdir(parents=True)
    example.write(data)
    (data / "patients.yaml").rename(data / "schema.yaml")
    shares = {} if per_analyst is None else {"limit_analyst": [per_analyst]}
    wanted = DatasetRequest.of({
        "name": name, "source": f"data/{name}/patients.csv", "purposes": ["research"],
        "told": {"tick": tick}, "unit": {"unit": "row"},
        "owner": {"budget": {"budget": budget, "budget_delta": "0"}, "shares": shares},
    })  # fmt: skip
    register_for(own, NOBODY, wanted, owner="")
    for person in list_people(own.office):
        grant(own.office, person.id, name, "research")
    if house is None:
        own.close()
