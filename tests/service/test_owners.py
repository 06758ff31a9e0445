"""Whose a dataset is: another owner's reads as if it were not there, until she is added."""

from __future__ import annotations

import json

import pytest

from sfumato.errors import ParameterError, PromiseBroken
from sfumato.govern.certificates.check import check_certificate
from sfumato.govern.certificates.checkpoints import make_checkpoint, sign_checkpoint
from sfumato.govern.certificates.merkle import Levels, leaf_of
from sfumato.govern.office import subjects
from sfumato.govern.office.entry import make_token
from sfumato.govern.office.jobs import add_job
from sfumato.govern.office.people import add_person, end_person
from sfumato.govern.office.releases import add_release
from sfumato.govern.office.wishes import add_wish
from sfumato.service.access import Access
from sfumato.service.routes import ROUTES

from .test_journeys import later


@pytest.fixture(scope="module")
def paula(site):
    """Another owner of the same office."""
    person = add_person(site.house.office, "paula", "owner")
    site.people["other"] = person
    site.tokens["other"] = make_token(site.house.office, person, "t", ["ask", "own"], 9)[1]
    return site.client("other", token=True)


def place(route):
    return route.path.replace("{dataset}", "people").replace("{", "").replace("}", "")


MINE = [r for r in ROUTES if r.access in {Access.OWNER, Access.DATASET} and "{dataset}" in r.path]


@pytest.mark.parametrize("route", MINE, ids=lambda r: f"{r.method} {r.path}")
def test_no_route_of_a_dataset_lets_another_owner_in(paula, route):
    assert paula.request(route.method, place(route)).status_code == 404


def test_what_hangs_on_a_dataset_is_its_owners_too(site, paula):
    office, olga = site.house.office, site.people["owner"]
    job = add_job(office, "anonymize", person=olga.id, dataset="people", body={}, at=1e12)
    wish = add_wish(office, site.people["analyst"].id, "people", "5", "more")
    code = subjects.add_request(office, "access", "people", "I am Ann")
    request = next(one for one in subjects.list_requests(office) if one["dataset"] == "people")
    add_release(office, "r1", dataset="people", person=olga.id, kind="anonymize", file="x.csv",
                promise="k", sha256="00", entry=1, facts={})  # fmt: skip
    mine = site.client("owner", token=True)
    for method, path in (
        ("GET", f"/api/v1/jobs/{job}"), ("DELETE", f"/api/v1/jobs/{job}"), ("GET", f"/jobs/{job}"),
        ("GET", f"/api/v1/jobs/{job}/events"), ("POST", f"/jobs/{job}/cancel"),
        ("GET", "/api/v1/releases/r1/file"), ("POST", "/api/v1/releases/r1/publication"),
        ("GET", "/releases/r1"), ("POST", "/releases/r1/publish"), ("GET", "/releases/r1/report"),
        ("POST", f"/api/v1/subjects/{request['id']}/refusal"),
        ("GET", "/api/v1/ledger/entries?dataset=people"),
    ):  # fmt: skip
        assert paula.request(method, path).status_code == 404, path
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert paula.post(f"/requests/{wish}", content="", headers=form).status_code == 404
    for path, key in (("requests", "requests"), ("subjects/requests", "requests"),
                      ("datasets", "datasets"), ("surveys", "surveys")):  # fmt: skip
        told = paula.get(f"/api/v1/{path}").json()[key]
        assert "people" not in json.dumps(told), path
    assert not [e for e in paula.get("/api/v1/ledger/entries").json()["entries"]
                if e["dataset"] == "people"]  # fmt: skip
    assert mine.get(f"/api/v1/jobs/{job}").status_code == 200
    assert code
    assert mine.delete(f"/api/v1/jobs/{job}").status_code == 200


def test_an_owner_who_is_added_acts_and_may_be_removed(site, paula):
    olga, other = site.client("owner", token=True), site.people["other"]
    refused = olga.post("/api/v1/datasets/people/owners", json={"name": "ann"})
    assert refused.status_code == 422  # an analyst
    assert olga.post("/api/v1/datasets/people/owners", json={"name": "paula"}).status_code == 201
    assert paula.get("/api/v1/datasets/people").status_code == 200
    assert paula.get("/api/v1/datasets/people/grants").status_code == 200
    gone = olga.delete(f"/api/v1/datasets/people/owners/{other.id}")
    assert [one["name"] for one in gone.json()["owners"]] == ["olga"]
    assert paula.get("/api/v1/datasets/people").status_code == 404


def test_a_dataset_that_nobody_owns_any_more_is_every_owner_s(site, paula):
    last = add_person(site.house.office, "last", "owner")
    site.register("orphan", seed=51)
    from sfumato.govern.office.tables import datasets

    site.house.office.change(
        datasets.update().where(datasets.c.name == "orphan").values(owner=last.id)
    )
    assert paula.get("/api/v1/datasets/orphan/grants").status_code == 404
    end_person(site.house.office, last.id)
    assert paula.get("/api/v1/datasets/orphan/grants").status_code == 200


@pytest.mark.parametrize(
    "source",
    ["postgresql://10.0.0.1/admin?table=users", "postgres://localhost:5432/x?table=y",
     "database:elsewhere::users", "database:clinic", "database:::x"],
)  # fmt: skip
def test_no_host_is_asked_that_the_operator_did_not_name(site, source):
    body = {"name": "knock", "source": source, "owner": {"budget": {"budget": "1"}}}
    refused = site.client("owner", token=True).post("/api/v1/datasets", json=body)
    assert refused.status_code == 422
    assert "--database" in refused.json()["detail"]


def test_a_table_of_a_named_database_adds_nothing_to_its_address():
    from sfumato.service.settings import Settings
    from sfumato.service.sources import source_at

    settings = Settings(folder="x", databases={"clinic": "postgresql://db/clinic?sslmode=require"})
    found = source_at(settings, "database:clinic::visits&host=10.0.0.1")
    assert found == "postgresql://db/clinic?sslmode=require&table=visits%26host%3D10.0.0.1"


# -- growth ----------------------------------------------------------------------------------


def test_a_ledger_that_was_cut_and_has_grown_again_is_told(site):
    """`verify --checkpoint` asks for a proof of growth, and a rewritten ledger has none."""
    site.register("grown", seed=52)  # a second entry, whichever tests ran before this one
    mine = site.client("owner", token=True)
    key = site.house.key
    keys = mine.get("/.well-known/sfumato-keys.json").json()
    with later(3600):
        budget = mine.get("/api/v1/datasets/people/certificate").json()
    size = check_certificate(budget, keys=keys).checkpoint.size
    leaves = site.house.tree.leaves()[:size]
    assert size > 1
    early = sign_checkpoint(make_checkpoint(leaves[: size - 1]), key)
    with pytest.raises(ParameterError, match="--growth"):
        check_certificate(budget, keys=keys, noted=early)
    proof = {"size": size - 1, "to": size,
             "proof": [one.hex() for one in Levels(leaves).consistency(size - 1)]}  # fmt: skip
    assert check_certificate(budget, keys=keys, noted=early, growth=proof)
    with later(3600):
        told = mine.get(f"/api/v1/ledger/growth/{size - 1}?to={size}").json()
    assert (told["size"], told["to"], told["proof"]) == (size - 1, size, proof["proof"])
    other = sign_checkpoint(make_checkpoint([leaf_of(f"{i:064x}") for i in range(size - 1)]), key)
    with pytest.raises(PromiseBroken, match="cut off or rewritten"):
        check_certificate(budget, keys=keys, noted=other, growth=proof)
    for broken in ({**proof, "size": size + 1}, {**proof, "proof": []}, {"proof": 3}):
        with pytest.raises(PromiseBroken):
            check_certificate(budget, keys=keys, noted=early, growth=broken)


# -- rows of others ----------------------------------------------------------------------------


def rows_of(site, name, **more):
    body = {"name": name, "owner": {"budget": {"budget": "1"}}, **more}
    return site.client("other", token=True).post("/api/v1/datasets", json=body)


@pytest.mark.parametrize("source", [
    "data/people/patients.csv", "data/copy/../people/patients.csv", "data/./people/patients.csv",
    "data/people/schema.yaml",
])  # fmt: skip
@pytest.mark.parametrize("shape", ["table", "sets", "graph", "trajectories"])
def test_no_owner_registers_the_rows_of_another_s_dataset(site, paula, source, shape):
    refused = rows_of(site, "taken", source=source, shape=shape)
    assert refused.status_code == 422
    assert "another dataset" in refused.json()["detail"]
    assert paula.get("/api/v1/datasets/taken").status_code == 404


def test_a_table_that_another_owner_has_registered_is_hers(site, paula):
    from sfumato.govern.office.catalogue import Facts, add_dataset
    from sfumato.govern.office.entry import enter_by_token
    from sfumato.service.access import Caller
    from sfumato.service.whose import check_whose

    olga, office = site.people["owner"].id, site.house.office
    for name, source in (("visits", "database:clinic::visits"), ("duck", "data/c.duckdb::Visits"),
                         ("sparks", "spark:clinic.visits")):  # fmt: skip
        add_dataset(office, name, owner=olga, source=source, schema_text="", facts=Facts())
    hers, mine = (Caller(enter_by_token(office, site.tokens[who])) for who in ("other", "owner"))
    for source in ("database:clinic::visits", 'database:clinic::public."visits"',
                   "data/../data/c.duckdb::main.visits", "spark:Clinic.visits",
                   "data/c.duckdb", "data/c.duckdb::c.main.visits", "database:clinic:: visits",
                   "database:clinic::clinic.public.visits",
                   "spark:spark_catalog.clinic.visits"):  # fmt: skip
        with pytest.raises(ParameterError, match="another dataset"):
            check_whose(site.house, hers, "anew", [source])
        check_whose(site.house, mine, "anew", [source])
    check_whose(site.house, hers, "anew", ["database:clinic::labs", "upload:x", "a\n1\n"])


def test_an_upload_outlives_a_registration_that_fails(site, paula):
    """What was typed is mended and sent again; the file is not."""
    sent = paula.post("/api/v1/uploads?name=r.csv", content=b"age,town\n" + b"1,a\n2,b\n" * 30)
    source = sent.json()["upload"]
    wrong = rows_of(site, "again", source=source, schema_text="attributes: {aje: quasi}\n")
    assert wrong.status_code == 422
    assert "schema.yaml" in wrong.text
    assert site.house.settings.folder not in wrong.text
    assert rows_of(site, "again", source=source).status_code == 201
    anew = paula.post("/api/v1/uploads?name=r.csv", content=b"age,town\n" + b"1,a\n2,b\n" * 30)
    refused = rows_of(site, "again", source=anew.json()["upload"])
    assert refused.status_code == 422


def test_files_of_the_operator_are_not_written_over(site, paula):
    folder = site.house.settings.path / "data" / "kept"
    folder.mkdir()
    (folder / "rows.csv").write_text("the operator's")
    refused = rows_of(site, "kept", source="age,town\n" + "1,a\n2,b\n" * 30)
    assert refused.status_code == 422
    assert (folder / "rows.csv").read_text() == "the operator's"


@pytest.mark.parametrize("source", ["data/a\0b.csv", "data/" + "x" * 5000, "data/\udcff.csv"])
def test_a_name_that_no_file_can_have_is_refused(site, paula, source):
    body = json.dumps({"name": "odd", "source": source, "owner": {"budget": {"budget": "1"}}})
    refused = paula.post("/api/v1/datasets", content=body,
                         headers={"Content-Type": "application/json"})  # fmt: skip
    assert refused.status_code == 422
