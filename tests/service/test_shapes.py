"""Every shape over HTTP: registered, anonymised, copied, with report, attacks and certificate."""

from __future__ import annotations

import csv
import functools
import io
import json
import random

import pytest

from sfumato.service import job, runner

from .test_journeys import over, until

BASE = {"told": {"why": "to test"}, "owner": {"budget": {"budget": "50", "budget_delta": "1e-3"}},
        "purposes": ["research"]}  # fmt: skip
HYBRID = """
attributes:
  age: {role: quasi, type: integer}
  films: {role: quasi, type: set}
  home: {role: quasi, type: place}
"""


def baskets(count=150):
    rng = random.Random(3)
    return "\n".join(" ".join(rng.sample("abcdefgh", rng.randint(1, 4))) for _ in range(count))


def edges(count=60):
    rng = random.Random(4)
    pairs = {tuple(sorted(rng.sample(range(count), 2))) for _ in range(150)}
    return "\n".join(f"{a} {b}" for a, b in sorted(pairs))


def trees(count=40):
    rng = random.Random(5)
    visits = [[{"ward": rng.choice("ab")} for _ in range(rng.randint(1, 2))] for _ in range(count)]
    return "\n".join(json.dumps({"age": rng.choice([30, 40]), "visits": one}) for one in visits)


def traces(count=24):
    rng = random.Random(6)
    rows = ["person,x,y,time"]
    for person in range(count):
        x, y = rng.uniform(0, 900), rng.uniform(0, 900)
        rows += [f"p{person},{x + 10 * i:.1f},{y + 5 * i:.1f},{60 * i}" for i in range(8)]
    return "\n".join(rows)


def hybrids(count=80):
    rng = random.Random(7)
    homes = [f"{rng.uniform(48, 49):.4f},{rng.uniform(2, 3):.4f}" for _ in range(count)]
    rows = [f'{rng.randint(20, 40)},{"|".join(rng.sample("abcd", 2))},"{at}"' for at in homes]
    return "age,films,home\n" + "\n".join(rows)


SHAPES = {
    "sets": ("baskets.dat", baskets(), {}, [{"definition": "KmAnonymity", "k": 3, "m": 2}], {}),
    "graph": ("friends.edges", edges(), {"nodes": "named"},
              [{"definition": "KDegreeAnonymity", "k": 3}],
              {"edits": "both"}),
    "trees": ("records.jsonl", trees(), {}, [{"definition": "KAnonymity", "k": 3}], {}),
    "trajectories": ("points.csv", traces(), {"bounds": "0,1000,0,1000"},
                     [{"definition": "KAnonymity", "k": 2}], {"places": 4}),
    "hybrid": ("people.csv", hybrids(), {},
               [{"definition": "KAnonymity", "k": 2},
                {"definition": "KmAnonymity", "k": 2, "m": 1, "attribute": "films"}],
               {"strategy": "both"}),
}  # fmt: skip


def done(site, client, body, dataset):
    """Make a release by a job that runs here, and give what was told of it."""
    site.house.settings.to_environment()
    started = client.post(f"/api/v1/datasets/{dataset}/releases", json=body)
    assert started.status_code == 202, started.text
    return finished(started, client)


def finished(started, client):
    """Wait for the job that a response leads to; give the id of its release."""
    place = started.headers["location"].removeprefix("/api/v1")
    job = until(lambda: client.get(f"/api/v1{place}").json(), over, 500)
    assert job["state"] == "done", job
    return job["result"]["release"]


@pytest.fixture(scope="module", autouse=True)
def jobs_in_this_process(site):
    """What jobs do is tested here; that each has a process of its own, in `test_journeys`."""

    async def run_here(house, taken):
        house.settings.to_environment()
        await house.thread(job.main, taken["id"])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job.resource, "setrlimit", lambda *_: None)
        patch.setattr(runner, "_run", run_here)
        yield


@pytest.fixture(scope="module")
def owner(site):
    return site.client("owner", token=True)


@pytest.fixture(scope="module")
def registered(owner):
    """Register the data of a shape for whichever test needs them first; give their name."""

    @functools.cache
    def register(shape):
        made = owner.post("/api/v1/datasets", json=described(owner, shape))
        assert made.status_code == 201, made.text
        assert made.json()["shape"] == shape
        return f"my_{shape}"

    return register


def described(owner, shape):
    file, text, reading, _, _ = SHAPES[shape]
    sent = owner.post(f"/api/v1/uploads?name={file}", content=text.encode())
    assert sent.status_code == 201, sent.text
    upload = sent.json()["upload"]
    place = f"/api/v1/uploads/{upload.partition(':')[2]}/suggestions?shape={shape}"
    suggested = owner.get(place).json()
    assert bool(suggested["columns"]) == (shape in {"trees", "hybrid"})
    schema = HYBRID if shape == "hybrid" else suggested["schema_text"]
    return BASE | {"name": f"my_{shape}", "shape": shape, "source": upload, "reading": reading,
                   "schema_text": schema}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_registered_and_anonymised(site, owner, registered, shape):
    promise, options = SHAPES[shape][3:]
    wanted = {"promise": promise, "options": options, "purpose": "research"}
    id_ = done(site, owner, wanted, registered(shape))
    found = owner.get(f"/releases/{id_}", headers={"Accept": "text/html"})
    assert "Attacks that were tried" in found.text
    assert owner.get(f"/releases/{id_}/report").status_code == 200
    assert owner.get(f"/api/v1/releases/{id_}/certificate").status_code == 200
    assert owner.get(f"/api/v1/releases/{id_}/file").content


@pytest.mark.parametrize("shape", ["sets", "graph", "trajectories"])
def test_shapes_are_copied_under_their_budget(site, owner, registered, shape):
    dataset = registered(shape)
    before = site.house.reader.spent(dataset)
    body = {"kind": "synthesize", "epsilon": "1", "purpose": "research"}
    if shape != "graph":
        body["delta"] = "1e-6"
    if shape == "sets":
        body["values"] = {"items": list("abcdefgh")}
    done(site, owner, body, dataset)
    assert site.house.reader.spent(dataset) != before


@pytest.mark.parametrize(
    ("shape", "typed", "won"),
    [
        ("sets", {"items": "a,b,c,d,e,f,g,h", "many": "3"}, "abcdefgh"),
        ("trees", {"columns": "visits.ward", "items": "a,b", "many": "1"}, "ab"),
        ("graph", {"many": "4"}, [str(node) for node in range(60)]),
        ("trajectories", {"cells": "2", "many": "2"}, None),
    ],
)  # fmt: skip
def test_the_most_frequent_of_every_shape_from_its_form(site, owner, registered, shape, typed, won):
    dataset = registered(shape)
    form = {"kind": "topk", "epsilon": "5", "counts": "yes", "purpose": "research"} | typed
    page = site.client("owner", html=True)
    shown = page.get(f"/datasets/{dataset}/release").text
    assert all(f'name="{field}"' in shown for field in form)
    before = site.house.reader.spent(dataset)
    id_ = finished(page.post(f"/datasets/{dataset}/release", data=form), owner)
    assert site.house.reader.spent(dataset) != before
    told = owner.get(f"/api/v1/releases/{id_}/file").text
    names = [row[1] for row in list(csv.reader(io.StringIO(told)))[1:]]
    assert len(names) == int(typed["many"])
    assert won is None or set(names) <= set(won)


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        ("synthesize", {"delta": "1e-7", "search": "0.1", "size": "50"}),
        ("topk", {"columns": "diagnosis", "many": "2", "delta": "1e-7"}),
        ("kmeans", {"columns": "age, salary", "many": "2", "bounds": "age=0,120\nsalary=0,200000"}),
        ("histogram", {"columns": "age", "bins": "age=0,30,60,120"}),
        ("train", {"target": "sex", "model": "logistic", "columns": "age", "delta": "1e-7",
                   "bounds": "age=0,120", "values": "sex=female,male"}),
    ],
)  # fmt: skip
def test_the_form_says_what_the_api_says(site, owner, kind, typed):
    form = {"kind": kind, "epsilon": "2", "purpose": "research"} | typed
    page = site.client("owner", html=True)
    shown = page.get("/datasets/people/release").text
    assert all(f'name="{field}"' in shown for field in form)
    assert finished(page.post("/datasets/people/release", data=form), owner)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("histogram", {"columns": ["age"], "bins": {"age": [0, 30, 60, 120]}}),
        ("distribution", {"columns": ["age"], "bounds": {"age": [0, 120]}, "cells": 16}),
        ("topk", {"columns": ["diagnosis"], "k": 2, "counts": True, "delta": "1e-7"}),
        ("kmeans", {"columns": ["age", "salary"], "k": 2,
                    "bounds": {"age": [0, 120], "salary": [0, 200000]}}),
        ("map", {"columns": ["age", "salary"],
                 "bounds": {"age": [0, 120], "salary": [0, 200000]}}),
        ("train", {"target": "salary", "model": "linear", "columns": ["age"], "delta": "1e-7",
                   "bounds": {"age": [0, 120], "salary": [0, 200000]}}),
    ],
)  # fmt: skip
def test_a_table_is_published_in_every_way(site, owner, kind, more):
    id_ = done(site, owner, {"kind": kind, "epsilon": "1", "purpose": "research"} | more, "people")
    assert owner.get(f"/api/v1/releases/{id_}/file").status_code == 200


@pytest.mark.parametrize(
    ("shape", "body", "told"),
    [
        ("trees", {"kind": "synthesize", "epsilon": 1}, "can be made"),
        ("sets", {"promise": [{"definition": "KAnonymity", "k": 2}], "options": {"x": 1}},
         "no option 'x'"),
        ("sets", {"promise": [{"definition": "KAnonymity", "k": 2}], "options": {"seed": 1}},
         "no seed"),
        (None, {"promise": [{"definition": "KAnonymity", "k": 2}], "seed": 4}, "no seed"),
        (None, {"kind": "anonymize"}, "Nothing is promised"),
    ],
)  # fmt: skip
def test_what_cannot_be_made_is_refused_before_a_job_begins(owner, registered, shape, body, told):
    dataset = registered(shape) if shape else "people"
    refused = owner.post(f"/api/v1/datasets/{dataset}/releases", json=body)
    assert refused.status_code == 422
    assert told in refused.json()["detail"]


def test_data_that_are_no_table_answer_no_sql(site, owner, registered):
    registered("sets")
    owner.post("/api/v1/datasets/my_sets/grants", json={"analyst": "ann", "purpose": "research"})
    ann = site.client("analyst", token=True)
    body = {"question": "SELECT COUNT(*) FROM my_sets", "price": {"epsilon": 1}}
    refused = ann.post("/api/v1/datasets/my_sets/questions", json=body)
    assert refused.status_code == 422
    assert "shape 'sets'" in refused.json()["detail"]


def test_reading_names_no_file_of_the_machine(owner):
    body = BASE | {"name": "stolen", "shape": "sets", "source": "a b\nb c\n",
                   "reading": {"hierarchy": "/etc/passwd"}}  # fmt: skip
    refused = owner.post("/api/v1/datasets", json=body)
    assert refused.status_code == 422
    assert "under the folder 'data'" in refused.json()["detail"]
