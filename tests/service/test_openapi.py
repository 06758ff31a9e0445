"""The OpenAPI document, and requests made from it: no server error, and answers as it says."""

from __future__ import annotations

import json
import os

import pytest

from sfumato.service.openapi import document
from sfumato.service.routes import API

ROLES = ("public", "stranger", "analyst", "owner")


def test_the_document_names_every_route_and_nothing_else():
    told = json.loads(document())
    assert told["openapi"] == "3.1.0"
    listed = {(m.upper(), path) for path, item in told["paths"].items() for m in item}
    assert listed == {(route.method, route.path) for route in API}
    ids = [one["operationId"] for item in told["paths"].values() for one in item.values()]
    assert len(ids) == len(set(ids))
    text = json.dumps(told)
    for name in told["components"]["schemas"]:
        assert f"#/components/schemas/{name}" in text or name == "Problem"


def site_request(client, sent):
    """Send what schemathesis made; what no HTTP client can send is no case."""
    from hypothesis import reject

    known = {k: v for k, v in sent.items() if k in {"method", "url", "headers", "params", "json"}}
    if "data" in sent:
        data = sent["data"]
        known["content"] = data if isinstance(data, bytes | str) else str(data)
    try:
        return client.request(**known)
    except (ValueError, UnicodeError, TypeError):
        reject()


def conforms(told, method, path, response):
    """See that an answer is as the document says, problems included."""
    import jsonschema_rs

    stated = told["paths"][path][method.lower()]["responses"]
    found = stated.get(str(response.status_code), stated["default"])
    kind = response.headers["content-type"].partition(";")[0]
    schema = found["content"].get(kind, found["content"].get("*/*", {})).get("schema")
    if str(response.status_code) not in stated:
        assert kind == "application/problem+json", response.text
    if schema is not None:
        whole = {**schema, "components": told["components"]}
        jsonschema_rs.validator_for(whole).validate(json.loads(response.text))


def cases(site, role, most):
    """Try the API with requests that schemathesis makes from the document."""
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings

    told = json.loads(document())
    schema = schemathesis.openapi.from_dict(json.loads(document()))
    client = site.client(None if role == "public" else role, token=True)
    client.follow_redirects = False
    cell = site.house.opened("people").asking.engine.columns("people", ["name"])[0][0]
    tried = []

    def attempt(operation):
        @given(case=operation.as_strategy())
        @settings(max_examples=most, deadline=None, database=None,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        def test(case):
            tried.append(operation.path)
            if "dataset" in (case.path_parameters or {}):
                case.path_parameters["dataset"] = "people"
            sent = case.as_transport_kwargs(base_url="https://testserver")
            headers = (sent.get("headers") or {}).items()
            sent["headers"] = {k: v for k, v in headers if k != "User-Agent"}
            response = site_request(client, sent)
            assert response.status_code < 500, (case.method, case.path, response.text)
            assert cell not in response.text
            conforms(told, operation.method, operation.path, response)

        test()

    for found in schema.get_all_operations():
        operation = found.ok()
        if not operation.path.endswith(("/events", "/releases/{release}/file")):
            attempt(operation)
    return len(tried)


@pytest.mark.parametrize("role", ROLES)
def test_a_share_of_what_schemathesis_makes(site, role):
    assert cases(site, role, 2) > 40


@pytest.mark.soak
@pytest.mark.parametrize("role", ROLES)
def test_thousands_that_schemathesis_makes(site, role):
    most = int(os.environ.get("SFUMATO_CASES", "130"))
    tried = cases(site, role, most)
    print(f"{role}: {tried} cases")
    assert tried > 40 * most * 0.8
