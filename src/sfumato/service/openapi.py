"""The OpenAPI 3.1 document, made from the route table and the models of requests.

Contract: nothing is stated here that is stated elsewhere: paths, methods and who is admitted come
from `routes.py`, bodies from the models in `requests/`, answers from `answers.py`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import models_json_schema

from sfumato import __version__
from sfumato.service.access import Access
from sfumato.service.answers import SCHEMAS
from sfumato.service.routes import API

if TYPE_CHECKING:
    from sfumato.service.route import Route

_REFERENCE = "#/components/schemas/{model}"
_PROBLEM = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
_FILES = {"api.releases:events": "text/event-stream", "api.meta:metrics": "text/plain",
          "api.meta:openapi": "application/json"}  # fmt: skip


def document() -> bytes:
    """Write the document."""
    bodies = [route.body for route in API if route.body is not None]
    names, schemas = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(bodies)], ref_template=_REFERENCE
    )
    by_model = {model: found["$ref"] for (model, _), found in names.items()}
    paths: dict[str, Any] = {}
    for route in API:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, by_model)
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Sfumato",
            "version": __version__,
            "description": "Data about people: questions under a budget, releases, rights.",
        },
        "paths": paths,
        "components": {
            "schemas": {**schemas.get("$defs", {}), **SCHEMAS},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "__Host-sfumato"},
            },
        },
    }
    return json.dumps(whole, ensure_ascii=False).encode()


def _operation(route: Route, by_model: dict[Any, str]) -> dict[str, Any]:
    module, _, name = route.handler.partition(":")
    found: dict[str, Any] = {
        "operationId": f"{module.rpartition('.')[2]}_{name}",
        "summary": route.about,
        "parameters": _parameters(route),
        "responses": _responses(route),
        "x-access": route.access.value,
    }
    if route.access is not Access.PUBLIC:
        found["security"] = [{"token": []}, {"session": []}]
    if route.body is not None:
        content = {"application/json": {"schema": {"$ref": by_model[route.body]}}}
        found["requestBody"] = {"required": True, "content": content}
    elif route.handler in {"api.uploads:create", "api.surveys:report"}:
        found["requestBody"] = {"content": {"application/octet-stream": {}}}
    return found


def _parameters(route: Route) -> list[dict[str, Any]]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    in_query = [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in route.query.items()
    ]
    return in_path + in_query


def _responses(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if route.answer is not None:
        schema = {"$ref": _REFERENCE.format(model=route.answer)}
        good: dict[str, Any] = {"application/json": {"schema": schema}}
    else:
        good = {_FILES.get(route.handler, "*/*"): {}}
    for status in {route.status, 200} if route.status == 202 else {route.status}:
        found[str(status)] = {"description": route.about, "content": good}
    found["default"] = {"description": "What went wrong (RFC 9457).", "content": _PROBLEM}
    return found
