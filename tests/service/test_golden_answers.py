"""What the service answers, held against `golden_answers.txt`: its document, problems and pages.

Numbers with noise, names that are drawn and times are replaced; what a question answers is pinned
by its command line (`tests/test_golden_outputs.py`).
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path

import golden

from sfumato.service.openapi import document

FILE = Path(__file__).with_name("golden_answers.txt")
DATA = "/api/v1/datasets/people"
COUNT = "SELECT COUNT(*) AS n FROM people"


def asked(question, **price):
    return {"question": question, "price": price or {"epsilon": "0.1"}}


REQUESTS = {
    "lists": [
        ("analyst", "GET", "/api/v1/datasets", None),
        ("analyst", "GET", DATA, None),
        ("analyst", "GET", f"{DATA}/standing", None),
        ("analyst", "GET", f"{DATA}/dummy?rows=2", None),
        ("owner", "GET", f"{DATA}/grants", None),
        ("owner", "GET", f"{DATA}/owners", None),
        ("owner", "GET", "/api/v1/ledger/entries?last=1", None),
        (None, "GET", "/.well-known/sfumato-keys.json", None),
        (None, "GET", "/api/v1/ledger/checkpoint", None),
        (None, "GET", "/healthz", None),
        (None, "GET", "/readyz", None),
    ],
    "problems": [
        (None, "GET", "/api/v1/nowhere", None),
        (None, "GET", "/api/v1/datasets", None),
        ("stranger", "GET", DATA, None),
        ("analyst", "GET", f"{DATA}/grants", None),
        ("analyst", "DELETE", DATA, None),
        ("analyst", "POST", f"{DATA}/questions", asked("SELECT name FROM people")),
        ("analyst", "POST", f"{DATA}/questions", asked("SELECT COUNT(* FROM people")),
        ("analyst", "POST", f"{DATA}/questions", asked(COUNT, epsilon="-1")),
        ("analyst", "POST", f"{DATA}/questions", asked(f"{COUNT} WHERE age > 3", epsilon="5000")),
        ("analyst", "POST", f"{DATA}/questions", {"question": COUNT, "more": 1}),
        ("analyst", "POST", f"{DATA}/estimates", {"questions": []}),
        ("owner", "POST", f"{DATA}/grants", {"analyst": "unknown", "purpose": "research"}),
        ("owner", "PATCH", DATA, {"reason": ""}),
        ("owner", "POST", "/api/v1/datasets", {"name": "people"}),
    ],
    "a question": [
        ("analyst", "POST", f"{DATA}/estimates", {"questions": [asked(COUNT)]}),
        ("analyst", "POST", f"{DATA}/questions", asked(COUNT)),
        ("analyst", "POST", f"{DATA}/questions", asked(COUNT)),
        ("analyst", "GET", "/api/v1/questions", None),
    ],
}

PAGES = [
    (None, "/"), (None, "/login"), (None, "/me"), ("analyst", "/datasets"),
    ("analyst", "/datasets/people"), ("analyst", "/datasets/people/ask"), ("analyst", "/account"),
    ("owner", "/people"), ("owner", "/datasets/new"), ("owner", "/datasets/people/rules"),
    ("owner", "/datasets/people/release"), ("owner", "/surveys"), ("analyst", "/people"),
    (None, "/nowhere"),
]  # fmt: skip

DRAWN = frozenset(
    {
        "account", "analyst", "charge", "fingerprint", "hash", "id", "keyid", "kid", "made",
        "number", "payload", "previous", "root", "sig", "size", "time", "x",
    }
)  # fmt: skip
VOLATILE = [
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"\b(analyst|owner)-[0-9a-f]{12}\b", r"<\1>"),
    (r"\b\d{4}-\d\d-\d\d\b", "<day>"),
    (r"\b[0-9a-f]{64}\b", "<hash>"),
    (r"\b[\w-]{22}\b(?<=[A-Z0-9_-])(?=\W)", "<id>"),
]


def steady(text):
    for pattern, instead in VOLATILE:
        text = re.sub(pattern, instead, text)
    return text


def masked(value, key=""):
    """Give an answer with what is drawn, and what the clock says, by its kind alone."""
    if key in {"rows", "intervals", "cells", "parts"}:
        return "<noisy>"
    if key == "artefact":  # the answer once more, as a text
        return masked(json.loads(value))
    if isinstance(value, dict):
        return {k: masked(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [masked(v, key) for v in value]
    if key in DRAWN:
        return f"<{type(value).__name__}>"
    return steady(value) if isinstance(value, str) else value


def answers(site, name):
    for role, method, path, body in REQUESTS[name]:
        client = site.client(role, token=role is not None)
        answer = client.request(method, path, json=body, headers={"Prefer": "wait=10"})
        kind = answer.headers.get("content-type", "")
        text = golden.as_json(masked(answer.json())) if "json" in kind else answer.text
        sent = "" if body is None else f" {json.dumps(body)}"
        line = f"{role or 'anyone'}: {method} {path}{sent}"
        yield f"{line}\n{answer.status_code} {kind}\n{text}\n"


def page(site, role, path):
    answer = site.client(role, html=True).get(path)
    bare = re.sub(r"<(style|script)\b.*?</\1>", "", answer.text, flags=re.DOTALL)
    lines = (html.unescape(line).strip() for line in re.sub(r"<[^>]*>", "\n", bare).split("\n"))
    kind = answer.headers.get("content-type", "")
    return "\n".join([f"{answer.status_code} {kind}", *(steady(line) for line in lines if line)])


def test_the_service_answers_what_it_did(site):
    """In one test, since what a site says depends on what was asked before."""
    told = {f"page {path} for {role or 'anyone'}": page(site, role, path) for role, path in PAGES}
    for name in REQUESTS:
        told[name] = "\n".join(answers(site, name))
    golden.check(FILE, told)


def test_the_document_says_what_it_said():
    """A line for every operation and schema, with a digest of all that is said of it."""
    whole = json.loads(document())
    lines = [f"{key}: {json.dumps(whole[key])}" for key in ("openapi", "info")]
    for path, item in whole["paths"].items():
        lines += [f"{method} {path} {digest(said)}" for method, said in item.items()]
    for kind, parts in whole["components"].items():
        for name, said in parts.items():
            keys = " ".join(said.get("properties", ()))
            lines.append(f"{kind} {name} {digest(said)} {keys}".rstrip())
    golden.check(FILE, {"the OpenAPI document": "\n".join(lines)})


def digest(said):
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]
