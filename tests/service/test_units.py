"""Whose presence is hidden, as an owner states it over HTTP: never read as somebody else's."""

from __future__ import annotations

import pytest

ROWS = "person,age,visit\n" + "".join(
    f"p{i // 5},{20 + i % 40},2024-01-{1 + i % 28:02}\n" for i in range(200)
)
SCHEMA = """
unit: person
attributes:
  person: {role: identifier}
  age: {role: quasi, type: integer}
  visit: {role: insensitive}
"""


@pytest.fixture
def owner(site):
    return site.client("owner", token=True)


def body(owner, name, **stated):
    sent = owner.post("/api/v1/uploads?name=visits.csv", content=ROWS.encode())
    return {
        "name": name,
        "source": sent.json()["upload"],
        "told": {"tick": 0.02},
        "owner": {"budget": {"budget": "2", "budget_delta": "0"}},
        **stated,
    }


def test_a_row_beside_a_schema_with_a_person_is_refused(site, owner):
    sent = body(owner, "visits_a", schema_text=SCHEMA, unit={"unit": "row"})
    told = owner.post("/api/v1/datasets", json=sent)
    assert told.status_code == 422
    assert "names 'person' as the privacy unit" in told.text
    assert site.house.reader.registration("visits_a") is None


def test_limits_without_a_unit_are_those_of_the_schemas_person(site, owner):
    sent = body(owner, "visits_b", schema_text=SCHEMA, unit={"rows": 5})
    assert owner.post("/api/v1/datasets", json=sent).status_code == 201
    known = site.house.reader.registration("visits_b")
    assert known.rules["unit"]["name"] == "person"
    assert known.rules["unit"]["rows"] == 5


def test_limits_of_rows_are_limits_of_nobody(owner):
    sent = body(owner, "visits_c", unit={"unit": "row", "rows": 5})
    told = owner.post("/api/v1/datasets", json=sent)
    assert told.status_code == 422
    assert "limit what counts of one person" in told.text


def test_a_graph_has_no_rows(owner):
    sent = owner.post("/api/v1/uploads?name=friends.edges", content=b"a b\nb c\nc a\n")
    wanted = {
        "name": "friends_units", "source": sent.json()["upload"], "shape": "graph",
        "reading": {"nodes": "named"}, "unit": {"unit": "row"}, "told": {"tick": 0.02},
        "owner": {"budget": {"budget": "2", "budget_delta": "0"}},
    }  # fmt: skip
    told = owner.post("/api/v1/datasets", json=wanted)
    assert told.status_code == 422
    assert "have no rows by which a person could be hidden" in told.text


def test_the_form_proposes_the_person_whom_the_rows_are_about(site):
    page = site.client("owner").post(
        "/datasets/new/upload",
        files={"file": ("visits.csv", ROWS.encode())},
        data={"shape": "table"},
    )
    assert page.status_code == 200, page.text
    assert 'name="unit" type="text" value="person"' in page.text
