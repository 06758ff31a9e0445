"""What comes from outside names no place of the machine, and tells of none.

A canary lies beside the server's folder, in it, and among the rows of another dataset; no text that
an owner sends brings it into a response, and a path that is there reads like one that is not.
"""

from __future__ import annotations

import os

import pytest

CANARY = "canary-in-the-mine"
BASE = {"owner": {"budget": {"budget": "9"}}}
NAMED = ["{there}", "../birds/rows.csv", "../../keys/secret", "link.csv", "pipe.csv", "{absent}",
         "/dev/zero", "/etc/passwd", "/proc/self/environ", "rows.csv", "one.csv"]  # fmt: skip
FORMS = [
    "hierarchy: {}",
    "hierarchy: !x {}",
    "hierarchy: &a {}",
    "hierarchy: {{file: {}}}",
    "hierarchy: {{file: !x {}}}",
    "hierarchy: !!map {{file: {}}}",
    "!!str hierarchy: {}",
    "hierarchy: {{rows: [[a, '*']], rule: {}}}",
    "hierarchy: {{rows: [[a, '*']], rule: {{file: {}}}}}",
    "hierarchy: {{rows: [[a, '*']], rule: !x {}}}",
]


@pytest.fixture(scope="module")
def planted(site, tmp_path_factory):
    """Plant the canary, and give the words by which a schema may name it."""
    place = tmp_path_factory.mktemp("elsewhere") / "there.csv"
    place.write_text("".join(f"{age};{CANARY};*\n" for age in range(30, 100)))
    folder = site.house.settings.path / "data" / "birds"
    folder.mkdir()
    for name in ("rows.csv", "one.csv"):
        (folder / name).write_text(f"{CANARY}\n")
    (folder / "link.csv").symlink_to(place)
    os.mkfifo(folder / "pipe.csv")
    return {"there": place, "absent": place.with_name("absent.csv")}


@pytest.fixture(scope="module")
def owner(site):
    return site.client("owner", token=True)


@pytest.mark.parametrize("shape", ["table", "trees"])
@pytest.mark.parametrize("form", FORMS)
def test_a_schema_of_an_owner_names_no_file(owner, planted, shape, form):
    told = set()
    for named in NAMED:
        text = "attributes:\n  age: {role: quasi, " + form.format(named.format(**planted)) + "}\n"
        source = "age\n30\n40\n" if shape == "table" else '{"age": 30}\n{"age": 40}\n'
        body = BASE | {"name": "peeking", "source": source, "shape": shape, "schema_text": text}
        refused = owner.post("/api/v1/datasets", json=body)
        assert refused.status_code == 422, refused.text
        assert CANARY not in refused.text
        told.add(refused.json()["detail"])
    assert len(told) == 1, told  # whatever is there or not


def test_a_form_reads_a_schema_as_the_interface_does(site, planted):
    browser = site.client("owner", html=True)
    form = {"name": "peeking", "source": "age\n30\n40\n", "budget": "1", "schema_text":
            f"attributes:\n  age: {{role: quasi, hierarchy: !x {planted['there']}}}\n"}  # fmt: skip
    refused = browser.post("/datasets/new", data=form)
    assert refused.status_code == 422
    assert "is not allowed; leave it out" in refused.text
    assert CANARY not in refused.text


@pytest.mark.parametrize(
    "name", ["link.csv", "pipe.csv", "../people/patients.csv", "folder", "folder/one.csv",
             "{there}", "/dev/zero", "missing.csv", "one.csv"]
)  # fmt: skip
def test_a_schema_of_the_operator_names_regular_files_beneath_it(site, owner, planted, name):
    """One line in a file is a tree of no height, and a sentence."""
    folder = site.house.settings.path / "data" / "birds"
    (folder / "folder").unlink(missing_ok=True)
    (folder / "folder").symlink_to(planted["there"].parent)
    entry = f"attributes:\n  age: {{role: quasi, hierarchy: {name.format(**planted)}}}\n"
    (folder / "schema.yaml").write_text(entry)
    (folder / "good.csv").write_text("age\n30\n40\n")
    body = BASE | {"name": "birds", "source": "data/birds/good.csv"}
    refused = owner.post("/api/v1/datasets", json=body)
    assert refused.status_code == 422, refused.text
    assert CANARY not in refused.text


BOMBS = {
    "aliases": "x0: &x0 [a, b, c, d, e, f, g, h, i]\n" + "".join(
        f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]\n" for n in range(1, 20)),
    "long text": f"a: &a {'x' * 60000}\nb: [{', '.join(['*a'] * 2000)}]\n",
    "sequences": "[" * 5000,
    "mappings": "{a: " * 5000,
    "many sequences": "[" * 900_000,
    "blocks": "\n".join(" " * n + "a:" for n in range(1000)),
    "itself": "attributes: &a {a: *a}\n",
    "itself in a list": "attributes: {age: {role: quasi, hierarchy: {tree: &a [*a]}}}\n",
    "two documents": "attributes: {age: quasi}\n---\nattributes: {age: identifier}\n",
    "no key": "attributes: {[a]: quasi}\n",
    "spans": "attributes: {age: {role: quasi, hierarchy: {rows: [[a, '*']], spans: [[[1]]]}}}\n",
    "flat spans": "attributes: {age: {role: quasi, hierarchy: {rows: [[a, '*']], spans: 1}}}\n",
    "cells": "attributes: {age: {role: quasi, hierarchy: {rows: [[[], {}]]}}}\n",
    "empty row": "attributes: {age: {role: quasi, hierarchy: {rows: [[], []]}}}\n",
    "one cell": "attributes: {age: {role: quasi, hierarchy: {rows: [[a], [b]]}}}\n",
    "zero": "attributes: {age: \x00}\n",
    "nothing": "~\n",
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_schema_text_makes_neither_work_nor_an_unforeseen_error(owner, bomb):
    body = BASE | {"name": "bomb", "source": "age\n30\n40\n", "schema_text": BOMBS[bomb]}
    for shape in ("table", "trajectories"):
        refused = owner.post("/api/v1/datasets", json=body | {"shape": shape})
        assert refused.status_code == 422, refused.text


def test_the_hierarchy_of_items_is_a_sentence_where_it_is_none(owner):
    for text in ("a\n", "\n\n;;\n", "a;*\na;*\n", '"', "a;b\nb;a\n"):
        body = BASE | {"name": "bomb", "source": "a b\nb a\n", "shape": "sets"}
        refused = owner.post("/api/v1/datasets", json=body | {"schema_text": text})
        assert refused.status_code == 422, refused.text


@pytest.mark.parametrize("option", ["population", "pseudonym_key", "progress", "seed"])
def test_no_option_of_a_release_names_a_file_or_an_address(owner, planted, option):
    body = {"promise": [{"definition": "KMap", "k": 2}], "purpose": "research"}
    for named in (
        str(planted["there"]),
        "data/birds/rows.csv",
        "postgresql://127.0.0.1:9/x?table=t",
    ):
        told = owner.post(
            "/api/v1/datasets/people/releases", json=body | {"options": {option: named}}
        )
        assert told.status_code == 422, told.text
        assert CANARY not in told.text


@pytest.mark.parametrize(
    "what",
    [
        "(SELECT count(*) FROM read_text('{0}')) > 0", "age IN (SELECT * FROM read_csv('{0}'))",
        "age > getenv('HOME')", "age IN (SELECT * FROM '{0}')", "glob('{0}') = 1",
        "age > pg_read_file('{0}')", "age = (SELECT 1 FROM glob('/etc/*'))",
    ],
)  # fmt: skip
def test_no_text_of_a_question_or_condition_reads_a_file(site, owner, planted, what):
    condition = what.format(planted["there"])
    client = site.client("analyst", token=True)
    asked = {"question": f"SELECT COUNT(*) FROM people WHERE {condition}", "price": {"epsilon": 1}}
    told = client.post("/api/v1/datasets/people/questions", json=asked)
    assert told.status_code == 422, told.text
    assert CANARY not in told.text


@pytest.mark.parametrize(
    "question",
    ["SELECT COUNT(*) FROM '{0}'", "SELECT COUNT(*) FROM read_csv('{0}')", "ATTACH '{0}' AS x",
     "COPY people TO '{0}'", "INSTALL httpfs", "PRAGMA database_list", 'SELECT COUNT(*) FROM "{0}"',
     "SELECT COUNT(*) FROM people; COPY people TO '{0}'", "CALL pragma_version()"],
)  # fmt: skip
def test_no_statement_names_a_file(site, planted, question):
    asked = {"question": question.format(planted["there"]), "price": {"epsilon": 1}}
    told = site.client("analyst", token=True).post("/api/v1/datasets/people/questions", json=asked)
    assert told.status_code == 422, told.text
    assert CANARY in planted["there"].read_text()


@pytest.mark.parametrize(
    "source",
    ["data/store.duckdb::read_csv('{0}')", "data/store.duckdb::'{0}'", 'data/store.duckdb::x"; --',
     "data/birds/*.csv", "data/birds/[r]ows.csv", "-", "/dev/stdin", "data/birds/pipe.csv",
     "data/birds/link.csv", "upload:../birds", "upload:..", "upload:/etc", "upload:", "~/x.csv",
     "data/store.duckdb::main.read_text('{0}')", "http://127.0.0.1:9/x.csv", "s3://x/y.csv",
     "file:///etc/passwd", "data/birds/rows.csv\x00.csv"],
)  # fmt: skip
def test_no_source_names_what_is_not_a_file_or_table_of_the_server(site, owner, planted, source):
    import duckdb

    store = site.house.settings.path / "data" / "store.duckdb"
    if not store.exists():
        duckdb.connect(str(store)).execute("CREATE TABLE x AS SELECT 1 AS a").close()
    for shape in ("table", "sets"):
        body = BASE | {"name": "peeking", "source": source.format(planted["there"]), "shape": shape}
        told = owner.post("/api/v1/datasets", json=body)
        assert told.status_code == 422, told.text
        assert CANARY not in told.text


@pytest.mark.parametrize("name", ["../x.csv", "/etc/passwd", "a/b.csv", "x.csv/..", ".csv", "x.so"])
def test_an_upload_lies_where_the_server_puts_it(site, owner, name):
    sent = owner.post("/api/v1/uploads", params={"name": name}, content=b"a\n1\n")
    assert sent.status_code in {201, 422}
    uploads = site.house.settings.path / "uploads"
    found = [file for file in uploads.rglob("*") if file.is_file()] if uploads.is_dir() else []
    assert all(file.parent.parent == uploads and file.stem == "rows" for file in found), found


@pytest.mark.parametrize("name", ["../x", "a/b", "..", "x.yaml/../../keys", "", "a" * 65, "\x00"])
def test_the_id_of_a_survey_and_the_name_of_a_dataset_are_no_paths(owner, name):
    survey = {"id": name, "question": "?", "answers": ["a", "b"], "epsilon": "1"}
    assert owner.post("/api/v1/surveys", json=survey).status_code == 422
    body = BASE | {"name": name, "source": "age\n30\n40\n"}
    assert owner.post("/api/v1/datasets", json=body).status_code == 422


# -- finished releases --------------------------------------------------------------------------

ROWS = "age\n30\n40\n" + "50\n60\n" * 3
AS_TEXT = (
    "hierarchy: {{rows: [" + ", ".join(f"['{n}', '{{}}', '*']" for n in (30, 40, 50, 60)) + "]}}"
)
FIRST = {"interface": 0, "form": 3}


def send(site, door, path, body, form):
    """Send what an owner says, as JSON or by the form of the page."""
    if door == "interface":
        return site.client("owner", token=True).post(f"/api/v1{path[0]}", json=body)
    return site.client("owner", html=True).post(path[1], data=form)


def finished(site, id_):
    """Do the job of a release in this process; give what it wrote, and all that is told of it."""
    from sfumato.govern.office.jobs import end_job
    from sfumato.service.job import Work
    from sfumato.service.work.releasing import release

    work = Work(site.house.settings, id_)
    work.tell = lambda _: None
    end_job(site.house.office, id_, "done", result=release(work))
    folder = site.house.settings.path / "releases" / id_
    written = {file.name: file.read_text() for file in folder.rglob("*") if file.is_file()}
    assert {"release.csv", "release.json", "report.html"} <= set(written)
    owner, page = (site.client("owner", **kind) for kind in ({"token": True}, {"html": True}))
    told = [owner.get(f"/api/v1/releases/{id_}/{what}").text
            for what in ("file", "manifest", "certificate")]  # fmt: skip
    told += [page.get(place).text for place in (f"/releases/{id_}", f"/releases/{id_}/report")]
    return written["release.csv"], [*written.values(), *told]


@pytest.mark.parametrize("door", ["interface", "form"])
def test_no_release_that_was_finished_holds_a_file_that_its_owner_named(
    site, planted, door, monkeypatch
):
    """Whatever schema and options are taken, the release is made and searched."""
    from sfumato.service.api import releases

    add, there = releases.add_job, str(planted["there"])
    # in the future, so that no runner takes it
    monkeypatch.setattr(releases, "add_job", lambda *given, **more: add(*given, **more, at=1e12))
    found = []
    for number, form in enumerate([FORMS[1], FORMS[4], AS_TEXT], FIRST[door]):
        name, told = f"told{number}", form.format(*[there] * 4)
        rows = ROWS + "50\n" * number  # other rows: the same have one budget
        text = f"attributes:\n  age: {{role: quasi, {told}}}\n"
        given = {"name": name, "source": rows, "schema_text": text}
        taken = send(site, door, ("/datasets", "/datasets/new"), BASE | given,
                     given | {"budget": "9"})  # fmt: skip
        assert CANARY not in taken.text
        if taken.status_code not in {201, 303}:
            continue
        for option in ("population", "pseudonym_key", None):
            options = {} if option is None else {option: there}
            body = {"promise": [{"definition": "KAnonymity", "k": 3}], "options": options}
            typed = {"kind": "anonymize", "p-k": "3", "suppression": "0", "algorithm": "optimal"}
            typed |= {f"o-{name}": value for name, value in options.items()}
            paths = f"/datasets/{name}/releases", f"/datasets/{name}/release"
            started = send(site, door, paths, body | {"algorithm": "optimal"}, typed)
            assert CANARY not in started.text
            if started.status_code in {202, 303}:
                id_ = started.headers["location"].rpartition("/")[2]
                found.append(finished(site, id_))
    assert found
    for released, texts in found:
        assert there in released  # the words are a label, and their file is not looked at
        assert not [text for text in texts if CANARY in text]
