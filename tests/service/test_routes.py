"""Every route by every role, made from the table: nobody gets in where they do not belong."""

from __future__ import annotations

import gzip
import re

import pytest

from sfumato.service.access import Access
from sfumato.service.route import Router
from sfumato.service.routes import API, PAGES, ROUTES

ROLES = ("public", "stranger", "analyst", "owner", "operator")
ADMITTED = {
    Access.PUBLIC: {"public", "stranger", "analyst", "owner", "operator"},
    Access.PERSON: {"stranger", "analyst", "owner"},
    Access.GRANTED: {"analyst", "owner"},  # the owner of the fixture has a grant of her own
    Access.DATASET: {"analyst", "owner"},
    Access.OWNER: {"owner"},
    Access.OPERATOR: {"operator"},
}
IN = {"dataset": "people", "survey": "none-such"}


def path_of(route):
    return re.sub(r"{(\w+)}", lambda found: IN.get(found[1], "none-such"), route.path)


def told(response):
    """What became of it: let in, or turned away and how."""
    if response.status_code in {401, 403}:
        return response.status_code
    if response.status_code == 303 and response.headers["location"].startswith("/login"):
        return 401
    return "in" if response.status_code != 404 else 404


def expected(route, role):
    if role in ADMITTED[route.access]:
        return {"in", 404} if "none-such" in path_of(route) else {"in"}
    if role in {"public", "operator"}:
        return {401}
    if route.access in {Access.GRANTED, Access.DATASET, Access.OPERATOR}:
        return {404}
    return {403}


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("route", ROUTES, ids=lambda r: f"{r.method} {r.path}")
def test_every_route_by_every_role(site, route, role):
    client = site.client(None if role == "public" else role, html=not route.is_api)
    if route.handler == "pages.entry:logout" and role in ADMITTED[route.access]:
        client = site.client(role, html=True)  # a session of its own, which ends
    response = client.request(route.method, path_of(route), content=b"")
    assert told(response) in expected(route, role), response.text
    assert response.status_code < 500, response.text


@pytest.mark.parametrize("route", [r for r in ROUTES if r.access is not Access.PUBLIC],
                         ids=lambda r: f"{r.method} {r.path}")  # fmt: skip
def test_no_token_of_another_scope_and_none_that_was_revoked(site, route):
    from sfumato.govern.office.entry import end_token, make_token

    owner = site.people["owner"]
    id_, secret = make_token(site.house.office, owner, "ask only", ["ask"], 1)
    client = site.client(html=not route.is_api)
    client.headers["Authorization"] = f"Bearer {secret}"
    if route.access is Access.OWNER:
        assert client.request(route.method, path_of(route)).status_code == 403
    end_token(site.house.office, owner.id, id_)
    response = client.request(route.method, path_of(route))
    assert told(response) == 401
    if route.is_api:
        assert "Bearer" in response.headers["www-authenticate"]


OF_ONE_THING = {"{question}", "{release}", "{job}", "{link}", "{file}", "{format}"}
SHOWN = [r for r in PAGES if r.method == "GET" and not OF_ONE_THING & set(r.path.split("/"))]


@pytest.mark.parametrize("route", SHOWN, ids=lambda r: r.path)
def test_every_page_is_small(site, route):
    """At most 30 KB compressed, with style and script; what names no other site asks none."""
    from sfumato.service.pages.frame import static_files

    survey = {"id": "tea", "question": "Tea?", "answers": ["yes", "no"], "epsilon": "1"}
    site.client("owner", token=True).post("/api/v1/surveys", json=survey)
    path = route.path.replace("{dataset}", "people").replace("{survey}", "tea")
    shown = site.client("owner", html=True).get(path)
    assert shown.status_code == 200
    kept = sum(len(packed) for _, packed, _ in static_files().values())
    assert len(gzip.compress(shown.content)) + kept <= 30 * 1024
    assert not re.search(r"""(src|href|action)=["']?(https?:)?//""", shown.text)
    script = next(plain for name, (plain, _, _) in static_files().items() if name.endswith(".js"))
    assert len(script) <= 5 * 1024


def test_the_table_names_every_handler_once_and_all_are_there():
    for route in ROUTES:
        assert callable(route.load()), route.handler
        assert route.about.endswith((".", "?")), route.path
    places = [(route.method, route.path) for route in ROUTES]
    assert len(places) == len(set(places))
    assert not {r.path for r in API} & {r.path for r in PAGES}


def test_a_path_is_found_part_by_part():
    router = Router(ROUTES)
    assert router.find("/datasets/new")[0]["GET"].handler == "pages.register:form"
    methods, taken = router.find("/datasets/people/ask")
    assert taken == {"dataset": "people"}
    assert set(methods) == {"GET", "POST"}
    assert router.find("/datasets//ask") == ({}, {})
    assert router.find("/datasets/people/ask/more") == ({}, {})


def plainly_found(path):
    """The same by trying every line of the table: words before any text, from the left."""
    given, fitting = path.split("/"), {}
    for route in ROUTES:
        wanted = route.path.split("/")
        pairs = list(zip(wanted, given, strict=False))
        if len(wanted) == len(given) and all(w == g or (w[:1] == "{" and g) for w, g in pairs):
            rank = tuple(w[:1] == "{" for w in wanted)
            taken = {w[1:-1]: g for w, g in pairs if w[:1] == "{"}
            fitting.setdefault(rank, ({}, taken))[0][route.method] = route
    return fitting[min(fitting)] if fitting else ({}, {})


def test_every_path_is_found_as_by_trying_all():
    router = Router(ROUTES)
    words = sorted({part for route in ROUTES for part in route.path.split("/") if "{" not in part})
    for route in ROUTES:
        parts = route.path.split("/")
        for place in range(1, len(parts)):
            for word in ("x", "", *words):
                path = "/".join([*parts[:place], word, *parts[place + 1 :]])
                assert router.find(path) == plainly_found(path), path


def test_what_an_analyst_may_not_see_reads_like_what_does_not_exist(site):
    stranger = site.client("stranger", token=True)
    hidden = stranger.get("/api/v1/datasets/people").json()
    absent = stranger.get("/api/v1/datasets/nothing").json()
    assert hidden == absent


def test_another_method_is_told_which_there_are(site):
    response = site.client("owner").request("PUT", "/api/v1/datasets")
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, POST"
