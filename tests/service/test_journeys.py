"""Journeys over HTTP: a release with its certificate, a survey, a person who is forgotten."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hangs import usually

from sfumato.errors import PromiseBroken
from sfumato.govern.certificates.check import check_certificate
from sfumato.govern.certificates.keys import public_key
from sfumato.local.collect.survey_files import read_survey
from sfumato.local.wire.messages import encode
from sfumato.service import published


def until(found, wanted, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        told = found()
        if wanted(told):
            return told
        time.sleep(0.05)
    raise AssertionError(f"waited for {seconds} s: {told}")


def over(job):
    return job["state"] not in {"queued", "running", "cancelling"}


@contextmanager
def at(moment):
    """Look at what is public as if it were that time."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(published, "now", lambda: moment)
        yield


def later(seconds):
    return at(time.time() + seconds)


@pytest.fixture(scope="module")
def release(site):
    """A release that was made by a job, and published."""
    owner = site.client("owner", token=True)
    body = {"kind": "anonymize", "promise": [{"definition": "KAnonymity", "k": 5}],
            "suppression": 0.05, "purpose": "research"}  # fmt: skip
    started = owner.post("/api/v1/datasets/people/releases", json=body)
    assert started.status_code == 202, started.text
    job = until(lambda: owner.get(started.headers["location"]).json(), over)
    assert job["state"] == "done", job
    id_ = job["result"]["release"]
    hidden = site.client().get(f"/api/v1/releases/{id_}/file")
    assert hidden.status_code == 404
    assert owner.post(f"/api/v1/releases/{id_}/publication").status_code == 200
    return id_


def test_a_release_is_certified_and_a_stranger_can_check_it(site, release, tmp_path):
    public = site.client()
    file = tmp_path / "release.csv"
    file.write_bytes(public.get(f"/api/v1/releases/{release}/file").content)
    with later(3600):
        certificate = public.get(f"/api/v1/releases/{release}/certificate").json()
    keys = public.get("/.well-known/sfumato-keys.json").json()
    found = check_certificate(certificate, file=file, keys=keys)
    assert found.dataset == "people"
    assert "KAnonymity" in json.dumps(found.statement["predicate"]["promise"])
    assert str(site.house.settings.path) not in json.dumps(found.statement)
    (tmp_path / "certificate.json").write_text(json.dumps(certificate))
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    command = [sys.executable, "-m", "sfumato", "verify", "release.csv", "--certificate",
               "certificate.json", "--key", "keys.json"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                          timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the certificate holds" in done.stdout
    file.write_bytes(file.read_bytes() + b"\n")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False,
                          timeout=120)  # fmt: skip
    assert done.returncode == 1


def test_a_stranger_checks_the_promise_with_what_the_page_of_a_release_offers(
    site, release, tmp_path
):
    """The page links the file, release.json, certificate and key; its own command checks them."""
    public = site.client(html=True)
    shown = public.get(f"/releases/{release}").text
    links = set(re.findall(r'href="([^"]*)"', shown))
    with later(3600):
        for name, place in {
            "release.csv": f"/api/v1/releases/{release}/file",
            "release.json": f"/api/v1/releases/{release}/manifest",
            f"certificate-{release}.json": f"/api/v1/releases/{release}/certificate",
            "sfumato-keys.json": "/.well-known/sfumato-keys.json",
        }.items():
            assert place in links
            (tmp_path / name).write_bytes(public.get(place).content)
    manifest = (tmp_path / "release.json").read_text()
    assert str(site.house.settings.path) not in manifest
    [command] = re.findall(r"<pre><code>sfumato (.*?)</code></pre>", shown)
    done = subprocess.run(
        [sys.executable, "-m", "sfumato", *command.split()], cwd=tmp_path, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the certificate holds" in done.stdout
    assert "quasi-identifiers: " in done.stdout
    assert re.search(r"5-anonymity.*holds", done.stdout, re.IGNORECASE), done.stdout
    certificate = json.loads((tmp_path / f"certificate-{release}.json").read_text())
    with pytest.raises(PromiseBroken):
        check_certificate(certificate, keys=public_key(Ed25519PrivateKey.generate()))


def test_a_new_release_is_certified_for_its_owner_at_once_and_later_for_others(site, release):
    place = f"/api/v1/releases/{release}/certificate"
    with later(-3600):  # as if it had been made in an hour
        early = site.client().get(place)
        mine = site.client("owner", token=True).get(place)
    assert (early.status_code, early.json()["code"]) == (409, "not-yet")
    assert 1 <= int(early.headers["retry-after"]) <= 61
    assert check_certificate(mine.json()).dataset == "people"


def test_what_is_public_stands_still_between_two_moments(site, ask):
    """Charges and ends of questions, in the middle of a minute, change no public byte."""
    public, minute = site.client(), time.time() // 60 * 60
    places = ("ledger/checkpoint", "ledger/proof/1", "ledger/growth/1")

    def seen(moment):
        with at(moment):
            found = [public.get(f"/api/v1/{place}").json() for place in places]
            return [*found, public.get("/readyz").json()]

    before, all_before, count = seen(minute + 30), seen(minute + 3600), site.house.reader.count()
    assert ask("SELECT COUNT(*) AS n FROM people WHERE age > 77").json()["charged"]
    assert site.house.reader.count() >= count + 2
    assert seen(minute + 30) == seen(minute + 59) == before
    assert seen(minute + 3600) != all_before


def test_the_public_tree_is_hashed_once(site, release, monkeypatch):
    from sfumato.govern.certificates import merkle

    public, made = site.client(), []
    node = merkle._node
    with later(3600):
        public.get("/api/v1/ledger/checkpoint")
        monkeypatch.setattr(merkle, "_node", lambda *pair: made.append(1) or node(*pair))
        for place in ("checkpoint", "proof/1", "proof/2", "growth/2"):
            assert public.get(f"/api/v1/ledger/{place}").status_code == 200
    assert not made


def test_proofs_and_growth_over_http(site, release):
    from sfumato.govern.certificates import merkle
    from sfumato.govern.certificates.checkpoints import read_checkpoint
    from sfumato.govern.certificates.keys import read_public

    with later(3600):
        prove_and_grow(site, merkle, read_checkpoint, read_public)


def prove_and_grow(site, merkle, read_checkpoint, read_public):
    public = site.client()
    key, one = read_public(public.get("/.well-known/sfumato-keys.json").json()["keys"][0])
    told = public.get("/api/v1/ledger/proof/1").json()
    point = read_checkpoint(told["checkpoint"], {key: one})
    path = [bytes.fromhex(step) for step in told["proof"]]
    assert merkle.root_from(bytes.fromhex(told["leaf"]), 0, point.size, path).hex() == point.root
    early = merkle.root(site.house.tree.leaves()[:2])
    grown = public.get("/api/v1/ledger/growth/2").json()
    later = read_checkpoint(grown["checkpoint"], {key: one})
    steps = [bytes.fromhex(step) for step in grown["proof"]]
    assert merkle.is_extension(early, 2, bytes.fromhex(later.root), later.size, steps)
    assert public.get("/api/v1/ledger/proof/99999").status_code == 404
    assert public.get("/api/v1/ledger/proof/x").status_code == 422


@pytest.mark.parametrize(
    ("range_", "status"),
    [
        ("bytes=0-9", 206), ("bytes=-1", 206), ("bytes=0-99999999999999", 206),
        ("bytes=" + ",".join(["0-"] * 5000), None),  # each asks for the whole file
        ("bytes=" + ",".join(f"{i}-{i + 9}" for i in range(5000)), None),  # they overlap
        ("bytes=abc", 400), ("bytes=99999999999999-", 416), ("rows=1-2", 400),
    ],
)  # fmt: skip
def test_ranges_of_a_released_file_never_give_more_than_the_file(site, release, range_, status):
    place = f"/api/v1/releases/{release}/file"
    whole = site.client().get(place).content
    with usually(1):
        found = site.client().get(place, headers={"Range": range_})
    assert found.status_code in ({200, 206} if status is None else {status})
    if found.status_code in {200, 206}:
        assert found.content in whole  # one stretch, however many were asked for


def test_a_budget_is_certified(site):
    certificate = site.client().get("/api/v1/datasets/people/certificate").json()
    found = check_certificate(certificate)
    assert "of" in "\n".join(found.lines())
    broken = json.loads(json.dumps(certificate))
    broken["signatures"][0]["sig"] = certificate["signatures"][0]["sig"][::-1]
    with pytest.raises(PromiseBroken):
        check_certificate(broken)


def test_pages_of_a_release_show_attacks_and_how_to_check(site, release):
    text = site.client(html=True).get(f"/releases/{release}").text
    assert "sfumato verify" in text
    assert "Attacks that were tried" in text
    assert site.client(html=True).get(f"/releases/{release}/report").status_code == 303
    report = site.client("owner", html=True).get(f"/releases/{release}/report")
    assert report.status_code == 200
    assert "release" in site.client(html=True).get("/").text


def test_a_job_that_asks_for_nonsense_fails_with_a_sentence(site):
    owner = site.client("owner", token=True)
    body = {"kind": "anonymize", "promise": [{"definition": "KAnonymity", "k": 5000}],
            "purpose": "research"}  # fmt: skip
    place = owner.post("/api/v1/datasets/people/releases", json=body).headers["location"]
    job = until(lambda: owner.get(place).json(), over)
    assert job["state"] == "failed"
    assert job["result"]["detail"].endswith(".")
    assert owner.delete(place).status_code == 409


def test_a_job_is_cancelled_and_its_events_end(site):
    owner = site.client("owner", token=True)
    body = {"kind": "topk", "columns": ["job"], "k": 2, "epsilon": "0.1", "delta": "1e-9",
            "purpose": "research"}  # fmt: skip
    place = owner.post("/api/v1/datasets/people/releases", json=body).headers["location"]
    assert owner.delete(place).status_code == 200
    job = until(lambda: owner.get(place).json(), over)
    assert job["state"] == "cancelled"
    events = owner.get(f"{place}/events").text
    assert events.startswith("data: ")
    assert '"cancelled"' in events


def test_winners_are_published_under_the_budget(site):
    owner = site.client("owner", token=True)
    body = {"kind": "topk", "columns": ["job"], "k": 2, "epsilon": "0.5", "delta": "1e-9",
            "purpose": "research"}  # fmt: skip
    place = owner.post("/api/v1/datasets/people/releases", json=body).headers["location"]
    job = until(lambda: owner.get(place).json(), over)
    assert job["state"] == "done", job
    entry = site.house.reader.entry(job["result"]["entry"])
    assert entry.analyst == site.people["owner"].pseudonym


# -- surveys --------------------------------------------------------------------------------


def test_a_survey_from_the_owner_to_estimates(site):
    owner = site.client("owner", token=True)
    body = {"id": "coffee", "question": "Coffee a day?", "answers": ["none", "some", "much"],
            "epsilon": "2", "asked_by": "the office"}  # fmt: skip
    assert owner.post("/api/v1/surveys", json=body).status_code == 201
    page = site.client(html=True).get("/s/coffee")
    assert page.status_code == 200
    assert "connect-src 'self'" in page.headers["content-security-policy"]
    survey = read_survey(site.house.settings.path / "surveys" / "coffee.yaml")
    public = site.client()
    for name in ("Origin", "Sec-Fetch-Site"):
        del public.headers[name]
    reports = survey.protocol.perturb(["none"] * 300 + ["some"] * 100)
    message = encode(reports, survey.address)
    path = "/api/v1/surveys/coffee/reports"
    elsewhere = {"Origin": "https://elsewhere.example"}
    refused = public.post(path, content=message, headers=elsewhere)
    assert refused.json()["accepted"] == 0  # a device sends one report at once
    assert refused.headers["access-control-allow-origin"] == "*"
    one = encode(survey.protocol.perturb(["much"]), survey.address)
    assert public.post(path, content=one, headers=elsewhere).json()["accepted"] == 1
    sent = owner.post(path, content=message)  # what was gathered elsewhere
    assert sent.json() == {"accepted": 400, "dropped": {}}
    again = owner.post(path, content=message).json()
    assert again == {"accepted": 0, "dropped": {"sent twice": 400}}
    assert public.post(path, content=b"nonsense").json()["accepted"] == 0
    found = owner.get("/api/v1/surveys/coffee/estimate").json()
    shares = {one["answer"]: one for one in found["answers"]}
    low, high = shares["none"]["interval"]
    assert low - 0.2 < 0.75 < high + 0.2
    assert owner.post("/api/v1/surveys/coffee/close").status_code == 200
    assert public.post(path, content=message).status_code == 409
    assert site.client(html=True).get("/s/coffee").status_code == 404


def test_a_survey_is_answered_and_shown_on_other_sites_as_its_owner_states(site):
    owner, public = site.client("owner", token=True), site.client()
    body = {"id": "cake", "question": "Cake?", "answers": ["no", "yes"], "epsilon": "12",
            "embed": ["https://cafe.example"], "together": 3}  # fmt: skip
    made = owner.post("/api/v1/surveys", json=body).json()
    assert "ε = 12 a report hides little" in made["warnings"][0]
    foreign = {"Origin": "https://cafe.example", "Sec-Fetch-Site": "cross-site"}
    path = "/api/v1/surveys/cake/reports"
    wanted = {"Access-Control-Request-Method": "POST",
              "Access-Control-Request-Headers": "content-type"}  # fmt: skip
    first = public.options(path, headers=foreign | wanted)
    assert first.status_code == 204
    assert first.headers["access-control-allow-origin"] == "*"
    assert first.headers["access-control-allow-headers"] == "Content-Type"
    assert public.options("/api/v1/datasets", headers=foreign).status_code == 405
    told = public.get("/api/v1/surveys/cake/recipe", headers=foreign)
    assert told.headers["access-control-allow-origin"] == "*"
    assert (told.json()["answers"], told.json()["together"]) == (["no", "yes"], 3)
    script = public.get("/api/v1/surveys/cake/client.js", headers=foreign)
    assert script.headers["cross-origin-resource-policy"] == "cross-origin"
    page = site.client(html=True).get("/s/cake").headers["content-security-policy"]
    assert page.endswith("frame-ancestors https://cafe.example")
    wrong = owner.post("/api/v1/surveys", json=body | {"id": "pie", "embed": ["*"]})
    assert wrong.status_code == 422


def test_shares_that_no_chance_explains_are_warned_about(site):
    """OUE: reports in which every answer is marked make shares of all of them beyond 1."""
    owner = site.client("owner", token=True)
    body = {"id": "forged", "question": "Which?", "answers": [f"a{n}" for n in range(40)],
            "epsilon": "1"}  # fmt: skip
    assert owner.post("/api/v1/surveys", json=body).json()["warnings"] == []
    survey = read_survey(site.house.settings.path / "surveys" / "forged.yaml")
    path = "/api/v1/surveys/forged/reports"
    honest = encode(survey.protocol.perturb(["a0"] * 3000), survey.address)
    assert owner.post(path, content=honest).json()["accepted"] == 3000
    assert owner.get("/api/v1/surveys/forged/estimate").json()["warnings"] == []
    forged = survey.protocol.perturb(["a0"])
    same = type(forged).concatenate([forged] * 9000)
    assert owner.post(path, content=encode(same, survey.address)).json()["accepted"] == 9000
    warned = owner.get("/api/v1/surveys/forged/estimate").json()["warnings"]
    assert any("beyond 0 to 100 %" in one for one in warned), warned
    assert "beyond 0 to 100 %" in site.client("owner", html=True).get("/surveys/forged").text


# -- people ---------------------------------------------------------------------------------


def names(site, dataset):
    return [row[0] for row in site.house.opened(dataset).asking.engine.columns(dataset, ["name"])]


def test_a_person_asks_is_told_once_and_is_forgotten(site, ask):
    site.register("clinic", 200, seed=7)
    person = names(site, "clinic")[0]
    before = len(names(site, "clinic"))
    ask("SELECT COUNT(*) FROM clinic", "0.5", dataset="clinic")
    public, owner = site.client(), site.client("owner", token=True)

    def request(kind):
        taken = public.post("/api/v1/subjects/requests", json={
            "kind": kind, "dataset": "clinic", "told": "It is me, 555-0100"})  # fmt: skip
        return taken.json()["code"]

    def confirm(index=0, **more):
        row = owner.get("/api/v1/subjects/requests").json()["requests"][index]
        return owner.post(f"/api/v1/subjects/{row['id']}/confirmation",
                          json={"person": person, **more})  # fmt: skip

    code = request("access")
    assert public.get(f"/api/v1/subjects/requests/{code}").json() == {
        "state": "received",
        "due": None,
    }
    unknown = public.get("/api/v1/subjects/requests/unknown-code").json()
    assert unknown == {"state": "received", "due": None}
    assert confirm().status_code == 200
    status = f"/api/v1/subjects/requests/{code}"
    until(lambda: public.get(status).json(), lambda told: told["state"] == "answered")
    found = public.post(f"{status}/reading").json()
    assert found["rows_found"] == 1
    assert found["rows"][0]["name"] == person
    assert found["answers"] == 1
    assert "cannot be recalled" in found["cannot_be_undone"]
    assert public.post(f"{status}/reading").status_code == 404  # read once
    code = request("forget")
    assert confirm().status_code == 200
    until(lambda: public.get(f"/api/v1/subjects/requests/{code}").json(),
          lambda told: told["state"] == "answered")  # fmt: skip
    after = names(site, "clinic")
    assert person not in after
    assert len(after) == before - 1
    fresh = ask("SELECT COUNT(*) FROM clinic", "0.5", dataset="clinic").json()
    assert fresh["charged"]  # other rows, so another answer
    chain = json.dumps([vars(one) for one in site.house.reader.entries("clinic")], default=str)
    assert person not in chain
    assert "subject-forget" in chain
    assert site.house.reader.verify()
    kept = json.dumps(site.house.office.rows(__import__("sqlalchemy").text(
        "SELECT body, result FROM sfumato_office_jobs")), default=str)  # fmt: skip
    assert person not in kept


def test_a_correction_changes_the_rows(site):
    site.register("ward", 100, seed=8)
    person = names(site, "ward")[3]
    public, owner = site.client(), site.client("owner", token=True)
    public.post("/api/v1/subjects/requests", json={
        "kind": "correct", "dataset": "ward", "told": "my job is wrong"})  # fmt: skip
    row = owner.get("/api/v1/subjects/requests").json()["requests"][0]
    place = f"/api/v1/subjects/{row['id']}/confirmation"
    assert owner.post(place, json={"person": person}).status_code == 422
    right = {"person": person, "corrections": {"job": "astronaut"}}
    assert owner.post(place, json=right).status_code == 200
    assert owner.post(place, json=right).status_code == 409
    file = site.house.settings.path / "data" / "ward" / "patients.csv"
    until(lambda: "astronaut" in file.read_text(), bool)
    assert file.read_text().count("astronaut") == 1


def test_an_unconfirmed_request_is_refused_and_reads_like_an_unknown_one(site):
    public, owner = site.client(), site.client("owner", token=True)
    code = public.post("/api/v1/subjects/requests", json={
        "kind": "access", "dataset": "people", "told": "somebody else"}).json()["code"]  # fmt: skip
    row = owner.get("/api/v1/subjects/requests").json()["requests"][0]
    assert owner.post(f"/api/v1/subjects/{row['id']}/refusal").status_code == 200
    told = public.get(f"/api/v1/subjects/requests/{code}").json()
    assert told == public.get("/api/v1/subjects/requests/unknown").json()
    assert public.post(f"/api/v1/subjects/requests/{code}/reading").status_code == 404
    kept = owner.get("/api/v1/subjects/requests").json()["requests"][0]
    assert kept["told"] == ""


# -- owners ---------------------------------------------------------------------------------


def test_no_question_rests_on_a_type_that_was_found_in_the_data_of_an_upload(site, ask):
    owner = site.client("owner", token=True)
    rows = "age,town\n" + "\n".join(f"{20 + i % 50},ward{i % 3}" for i in range(120))
    body = {"source": rows, "time_zone": "Europe/Vienna", "unit": {"unit": "row"},
            "owner": {"budget": {"budget": "2", "budget_delta": "0"}}}  # fmt: skip
    found = "attributes:\n  age: {role: quasi, type: integer, from: data}\n  town: quasi\n"
    texts = {"empty": "", "found": found, "stated": found + "public_types: true\n"}
    wrong = owner.post("/api/v1/datasets", json=body | {"name": "z", "time_zone": "Mars"})
    assert wrong.status_code == 422
    for name, text in texts.items():
        body |= {"name": name, "schema_text": text, "source": f"{rows}\n20,{name}\n"}
        made = owner.post("/api/v1/datasets", json=body)
        assert made.status_code == 201, made.text
        assert made.json()["time_zone"] == "Europe/Vienna"
        assert ("age" in made.json()["columns"]) == (name == "stated")
        site.house.pages.pop("openness", None)  # which is made anew from time to time
        for page in (f"/datasets/{name}", "/"):
            assert "Europe/Vienna" in site.client("owner", html=True).get(page).text


def test_an_upload_is_inspected_registered_granted_and_asked(site, ask):
    owner = site.client("owner", token=True)
    rows = "age,town\n" + "\n".join(f"{20 + i % 50},town{i % 3}" for i in range(120)) + "\n"
    sent = owner.post("/api/v1/uploads?name=town.csv", content=rows.encode())
    assert sent.status_code == 201
    suggested = owner.get(sent.headers["location"]).json()
    assert {one["name"] for one in suggested["columns"]} == {"age", "town"}
    body = {"name": "towns", "source": sent.json()["upload"], "purposes": ["planning"],
            "told": {"tick": 0.02}, "unit": {"unit": "row"},
            "owner": {"budget": {"budget": "2", "budget_delta": "0"}}}  # fmt: skip
    made = owner.post("/api/v1/datasets", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["purposes"] == ["planning"]
    assert owner.post("/api/v1/datasets", json=body).status_code == 422
    granted = owner.post(
        "/api/v1/datasets/towns/grants", json={"analyst": "sam", "purpose": "planning"}
    )
    assert granted.status_code == 201
    told = ask("SELECT COUNT(*) AS n FROM towns", "1", dataset="towns", role="stranger").json()
    assert told["state"] == "ready"
    [one] = granted.json()["grants"]
    assert owner.delete(f"/api/v1/datasets/towns/grants/{one['id']}").status_code == 200
    assert (
        ask("SELECT COUNT(*) AS n FROM towns", "1", dataset="towns", role="stranger").status_code
        == 404
    )


def test_a_request_for_budget_is_granted_by_an_amendment(site):
    analyst, owner = site.client("analyst"), site.client("owner", html=True)
    made = analyst.post(
        "/api/v1/datasets/people/requests", json={"amount": "1.5", "reason": "more"}
    )
    assert made.status_code == 201
    id_ = made.json()["id"]
    assert (
        owner.post(f"/requests/{id_}", data={"decision": "grant", "answer": "go on"}).status_code
        == 303
    )
    limits = site.house.reader.registration("people").limits
    assert limits.analysts[site.people["analyst"].pseudonym].epsilon == 1.5
    [told] = [one for one in analyst.get("/api/v1/requests").json()["requests"] if one["id"] == id_]
    assert (told["state"], told["answer"]) == ("granted", "go on")
    amended = site.house.reader.entries("people")[-1]
    assert amended.kind == "amended"
    again = owner.post(f"/requests/{id_}", data={"decision": "refuse", "answer": "no"})
    assert again.status_code == 422


def test_an_amendment_has_a_reason_and_shows_old_and_new(site):
    owner = site.client("owner", token=True)
    body = {"reason": "a new study", "owner": {"budget": {"budget": "2000"}}}
    assert owner.patch("/api/v1/datasets/people", json=body).status_code == 200
    assert owner.patch("/api/v1/datasets/people", json={"owner": {}}).status_code == 422
    text = site.client("owner", html=True).get("/datasets/people/rules").text
    assert "a new study" in text
    assert "2000" in text.replace(",", "")
