"""Hostile requests: forged headers, oversize bodies, redirects, scripts and formulas in cells."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from sfumato.service import call as call_module
from sfumato.service.call import local
from sfumato.service.pages.ask import built

from .conftest import ORIGIN

ordered = "attempts to log in add up, and the last tests use up what an address has"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "testserver@evil"])
def test_another_host_is_not_answered_for(site, host):
    response = site.client("owner").get("/datasets", headers={"Host": host})
    assert response.status_code == 421


def test_a_forged_host_changes_no_right(site):
    # The right is decided from the route that was found; a path inside the header is no path.
    response = site.client().get("/api/v1/ledger/entries", headers={"Host": "testserver/healthz?"})
    assert response.status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
        {"Origin": "null", "Sec-Fetch-Site": ""},
        {"Origin": "", "Sec-Fetch-Site": ""},
        {"Origin": "https://testserver", "Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "https://evil.example", "Sec-Fetch-Site": "none"},
        {"Origin": "null", "Sec-Fetch-Site": "none"},
    ],
)
def test_another_site_cannot_act_in_a_visitor_s_name(site, headers):
    client = site.client("owner", html=True)
    for path in ("/people", "/datasets/people/grants", "/logout", "/api/v1/tokens"):
        response = client.post(path, headers=headers)
        assert response.status_code == 403, path
    assert site.client("owner").get("/account").status_code == 200


def test_a_program_with_a_token_needs_no_origin(site):
    client = site.client("analyst", token=True)
    for name in ORIGIN:
        del client.headers[name]
    body = {"questions": [{"question": "SELECT COUNT(*) FROM people", "price": {"epsilon": 1}}]}
    assert client.post("/api/v1/datasets/people/estimates", json=body).status_code == 200


def test_a_body_that_is_too_large_is_refused(site):
    client = site.client("analyst", token=True)
    path = "/api/v1/datasets/people/estimates"
    large = b'{"questions": "' + b"x" * (1 << 20) + b'"}'
    assert (
        client.post(path, content=large, headers={"Content-Type": "application/json"}).status_code
        == 413
    )
    lying = {"Content-Type": "application/json", "Content-Length": "10"}
    assert client.post(path, content=(part for part in [large]), headers=lying).status_code in {
        400,
        413,
    }
    sql = {"questions": [{"question": "SELECT " + "1," * 9000, "price": {"epsilon": 1}}]}
    assert client.post(path, json=sql).status_code == 422


def test_a_slow_body_is_cut_off(site, monkeypatch):
    monkeypatch.setattr(call_module, "SLOWEST", 0.05)

    async def never():
        await asyncio.sleep(5)

    made = call_module.Call(site.house, None, None, {}, never, {})
    for read in (made.bytes, made.piece):  # whole bodies, and uploads piece by piece
        with pytest.raises(call_module.Problem) as refused:
            asyncio.run(read())
        assert refused.value.status == 408


@pytest.mark.parametrize("path", ["/api/v1/uploads?name=slow.csv", "/datasets/new/upload"])
def test_a_slow_upload_is_cut_off_and_leaves_nothing(site, monkeypatch, path):
    monkeypatch.setattr(call_module, "SLOWEST", 0.05)

    async def send():
        scope = {"type": "http", "method": "POST", "path": path.partition("?")[0],
                 "query_string": path.partition("?")[2].encode(),
                 "headers": [(b"host", b"testserver"), (b"accept", b"application/json"),
                             (b"authorization", f"Bearer {site.tokens['owner']}".encode()),
                             (b"content-type", b"multipart/form-data; boundary=x")]}  # fmt: skip
        first = [{"type": "http.request", "body": b"--x\r\n", "more_body": True}]
        told = []

        async def receive():
            if first:
                return first.pop()
            return await asyncio.sleep(20)

        async def take(message):
            told.append(message)

        await site.door(scope, receive, take)
        return told[0]["status"]

    assert site.running.portal.call(send) == 408
    uploads = site.house.settings.path / "uploads"
    assert not uploads.is_dir() or not list(uploads.iterdir())


def test_an_upload_that_nobody_registers_is_erased(site):
    owner = site.client("owner", token=True)
    old = owner.post("/api/v1/uploads?name=old.csv", content=b"a\n1\n").json()["upload"]
    folder = site.house.settings.path / "uploads" / old.removeprefix("upload:")
    os.utime(folder, (1.0, 1.0))
    assert owner.post("/api/v1/uploads?name=new.csv", content=b"a\n1\n").status_code == 201
    assert not folder.exists()


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example",
        "/\\evil.example",
        "https://evil.example",
        "javascript:alert(1)",
        "/a\\b",
        "/\n/x",
        "",
    ],
)
def test_a_redirect_stays_here(site, place):
    assert local(place) == "/"
    client = site.client(html=True)
    response = client.get("/login", params={"next": place})
    assert 'name="next" value="/"' in response.text


def test_another_s_question_and_job_are_nothing(site, ask):
    mine = ask("SELECT COUNT(*) FROM people WHERE age > 61").json()["id"]
    for role in ("stranger", "owner"):
        assert site.client(role).get(f"/api/v1/questions/{mine}").status_code == 404
        assert site.client(role, html=True).get(f"/questions/{mine}").status_code == 404
        assert site.client(role, html=True).get(f"/questions/{mine}/csv").status_code == 404
    assert site.client("analyst").get("/api/v1/jobs/none").status_code == 403


def test_scripts_in_names_and_texts_are_shown_as_text(site):
    owner = site.client("owner", html=True)
    attack = "<script>alert(1)</script>"
    owner.post("/datasets/people/mistakes", data={"told": attack})
    shown = site.client(html=True).get("/").text
    assert attack not in shown
    assert "&lt;script&gt;" in shown
    wrong = owner.post("/people", data={"name": attack, "role": "analyst"})
    assert wrong.status_code == 422
    sql = site.client("analyst", html=True).post(
        "/datasets/people/ask", data={"question": f"SELECT '{attack}'", "step": "estimate"}
    )
    assert attack not in sql.text


def test_a_formula_in_a_cell_is_made_harmless(site, ask):
    found = ask("SELECT job, COUNT(*) AS n FROM people GROUP BY job",
                keys={"job": ["=cmd()", "+1", "@x", "nurse"]})  # fmt: skip
    assert found.status_code == 200, found.text
    client = site.client("analyst", html=True)
    text = client.get(f"/questions/{found.json()['id']}/csv").text
    assert "\n'=cmd()" in text
    assert "\n'+1" in text
    assert "\nnurse" in text


def test_sql_in_names_stays_a_name(site):
    form = {"group": ['age" FROM people; DROP TABLE people; --'], "measure": ["count"], "of": [""]}
    text = built(form, "people")
    assert text.count('age"" FROM') == 2
    response = site.client("analyst", html=True).post(
        "/datasets/people/ask", data={"question": text, "epsilon": "1", "step": "estimate"}
    )
    assert response.status_code == 422


def test_a_session_that_was_ended_is_nobody_s(site):
    client = site.client("analyst", html=True)
    assert client.get("/account").status_code == 200
    client.post("/logout")
    assert client.get("/account").headers["location"].startswith("/login")


def test_logins_are_limited_and_unknown_names_read_like_wrong_passwords(site):
    client = site.client(html=True)
    first = client.post("/login", data={"name": "nobody", "password": "wrong password"})
    known = client.post("/login", data={"name": "ann", "password": "wrong password"})
    assert first.status_code == known.status_code == 401
    assert first.text == known.text
    for _ in range(10):
        last = client.post("/login", data={"name": "target", "password": "wrong password"})
    assert last.status_code == 401
    assert client.post("/login", data={"name": "target", "password": "x" * 12}).status_code == 429


def test_strangers_who_fail_keep_out_strangers_and_no_person(site):
    """By account and address; a device from which the account was entered before is let in."""
    from sfumato.govern.office.events import MOST_IN_ALL, MOST_PER_ADDRESS, begin_attempt
    from sfumato.govern.office.people import add_person

    office, good = site.house.office, {"name": "Nora", "password": "a long password"}
    add_person(office, "Nora", "analyst", good["password"])
    mine = site.client(html=True)
    done = mine.post("/login", data=good)
    assert done.status_code == 303
    device = next(c for c in done.headers.get_list("set-cookie") if "-device=" in c).split(";")[0]
    for number in range(MOST_PER_ADDRESS):
        begin_attempt(office, "nora" if number < 20 else f"account {number}", "testclient")
    assert site.client(html=True).post("/login", data=good).status_code == 429
    known = {"Cookie": device}
    assert site.client(html=True).post("/login", data=good, headers=known).status_code == 303
    for cookie in (device + "0", device.replace("=", "=x"), "__Host-sfumato-device=."):
        forged = site.client(html=True).post("/login", data=good, headers={"Cookie": cookie})
        assert forged.status_code == 429, cookie
    other = site.client(html=True).post("/login", data=good | {"name": "ann"}, headers=known)
    assert other.status_code == 429  # another account's device is not known
    wrong = good | {"password": "a wrong password"}
    for _ in range(10):
        assert mine.post("/login", data=wrong, headers=known).status_code == 401
    assert mine.post("/login", data=good, headers=known).status_code == 429
    begun = [begin_attempt(office, "vic", f"10.0.0.{n}") for n in range(MOST_IN_ALL + 1)]
    assert None not in begun[:-1]
    assert begun[-1] is None
    from sqlalchemy import delete

    from sfumato.govern.office.tables import attempts

    office.change(delete(attempts))


def test_a_one_time_link_works_once(site):
    owner = site.client("owner", html=True)
    text = owner.post("/people", data={"name": "Ina", "role": "analyst"}).text
    place = text.split("https://testserver", 1)[1].split("<", 1)[0]
    guest = site.client(html=True)
    short = guest.post(place, data={"password": "short", "again": "short"})
    assert short.status_code == 422
    good = {"password": "a long password", "again": "a long password"}
    done = guest.post(place, data=good)
    assert done.status_code == 303
    cookie = done.headers["set-cookie"]
    for word in ("__Host-sfumato=", "Secure", "HttpOnly", "SameSite=Lax", "Path=/"):
        assert word in cookie
    assert guest.post(place, data=good).status_code == 410
    assert guest.get(place).status_code == 410


def test_a_token_that_is_over_is_replayed_in_vain(site):
    """One that was revoked, one whose days are over, and a session's secret sent as a token."""
    from sqlalchemy import update

    from sfumato.govern.office.entry import end_token, make_token, open_session
    from sfumato.govern.office.office import digest
    from sfumato.govern.office.tables import tokens

    office, owner = site.house.office, site.people["owner"]
    revoked, first = make_token(office, owner, "revoked", ["own"], 1)
    _, second = make_token(office, owner, "old", ["own"], 1)
    session = open_session(office, owner.id)

    def status(secret):
        client = site.client()
        client.headers["Authorization"] = f"Bearer {secret}"
        return client.get("/api/v1/datasets").status_code

    assert (status(first), status(second)) == (200, 200)
    end_token(office, owner.id, revoked)
    ended = update(tokens).where(tokens.c.digest == digest(second)).values(ends=1.0)
    office.change(ended)
    assert [status(one) for one in (first, second, session)] == [401, 401, 401]
    _, token = make_token(office, owner, "as a cookie", ["own"], 1)
    cookie = {"Cookie": f"__Host-sfumato={token}"}
    sent = site.client(html=True).get("/account", headers=cookie)
    assert sent.headers["location"].startswith("/login")


def test_every_response_carries_its_guards(site):
    for path in ("/", "/login", "/healthz", "/nothing", "/api/v1/datasets"):
        headers = site.client(html=True).get(path).headers
        assert "frame-ancestors 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


@pytest.mark.parametrize("range_", ["bytes=0-0", "bytes=0-99999999999999", "bytes=-1", "bytes=abc"])
def test_ranges_of_pages_are_ignored(site, range_):
    assert site.client().get("/", headers={"Range": range_}).status_code == 200


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"question": 1}', b"\xff\xfe", b'{"a":' * 5000]
)
def test_a_malformed_body_is_told_in_one_shape(site, body):
    response = site.client("analyst", token=True).post(
        "/api/v1/datasets/people/questions", content=body,
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert response.status_code in {400, 422}
    told = response.json()
    assert set(told) >= {"type", "title", "status", "detail", "code", "charged"}
    assert told["charged"] is False


@pytest.mark.parametrize(
    "source",
    ["/etc/passwd", "../../etc/passwd", "keys/secret", "{}/stolen.csv", "data/../stolen.csv",
     "data/link.csv", "data/../stolen.csv::rows"],
)  # fmt: skip
def test_no_file_of_the_machine_becomes_a_dataset(site, source):
    folder = site.house.settings.path  # a file that could well be read, were it not there
    (folder / "stolen.csv").write_text("age,town\n30,root:\n40,root:\n")
    (folder / "data" / "link.csv").unlink(missing_ok=True)
    (folder / "data" / "link.csv").symlink_to(folder / "stolen.csv")
    body = {"name": "stolen", "source": source.format(folder), "owner": {"budget": {"budget": "1"}}}
    response = site.client("owner", token=True).post("/api/v1/datasets", json=body)
    assert response.status_code == 422
    assert "under the folder 'data'" in response.json()["detail"]
    assert "root:" not in response.text


def test_an_error_quotes_no_cell(site, ask):
    name = site.house.opened("people").asking.engine.columns("people", ["name"])[0][0]
    for question in (
        f"SELECT CAST(name AS INTEGER) FROM people WHERE name = '{name}'",
        "SELECT SUM(CAST(name AS DOUBLE)) FROM people",
        "SELECT MAX(name) FROM people",
    ):
        told = ask(question).json()
        assert name not in json.dumps({k: v for k, v in told.items() if k != "nearest"}), question


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"price": {"epsilon": 1, "deltaa": 0}}, "'price.deltaa' is unknown; allowed are epsilon"),
        ({"price": {"epsilon": 1}, "prize": {}}, "'prize' is unknown; allowed are question"),
    ],
)
def test_a_nested_field_that_is_unknown_is_told_among_its_neighbours(site, body, told):
    asked = {"question": "SELECT COUNT(*) FROM people"} | body
    client = site.client("analyst", token=True)
    refused = client.post("/api/v1/datasets/people/questions", json=asked)
    assert refused.status_code == 422
    assert told in refused.json()["detail"]
    batch = client.post("/api/v1/datasets/people/estimates", json={"questions": [asked]})
    assert f"'questions.0.{told[1:]}" in batch.json()["detail"]


def test_metrics_are_the_operator_s_and_name_no_dataset(site):
    assert site.client("owner").get("/metrics").status_code == 404
    text = site.client("operator").get("/metrics").text
    assert "sfumato_entries" in text
    assert "people" not in text


def test_too_many_requests_are_put_off(site, monkeypatch):
    from sfumato.service import door

    monkeypatch.setattr(door, "BURST", 3)
    object.__setattr__(site.house.settings, "rate", 0.001)
    site.door._buckets.clear()
    try:
        client = site.client("stranger", token=True)
        found = [client.get("/api/v1/tokens").status_code for _ in range(6)]
    finally:
        object.__setattr__(site.house.settings, "rate", 1e9)
        site.door._buckets.clear()
    assert found[0] == 200
    assert found[-1] == 429


def test_a_header_of_200_000_columns_is_refused_by_a_sentence(site):
    """What is longer than what is looked at is not cut into names that do not exist."""
    owner = site.client("owner", token=True)
    header = ",".join(f"column_{number}" for number in range(200_000))
    rows = f"{header}\n{'1,' * 199_999}1\n"
    sent = owner.post("/api/v1/uploads?name=wide.csv", content=rows.encode())
    assert sent.status_code == 201
    body = {"name": "wide", "unit": {"unit": "row"}, "owner": {"budget": {"budget": "1"}}}
    for source, status in ((sent.json()["upload"], 422), (rows, 413)):
        refused = owner.post("/api/v1/datasets", json=body | {"source": source})
        assert refused.status_code == status
        assert "column_" not in refused.text
        assert str(site.house.settings.path) not in refused.text
        if status == 422:
            assert "the first line does not end within 1 MiB" in refused.json()["detail"]
    assert owner.get("/api/v1/datasets/wide").status_code == 404
