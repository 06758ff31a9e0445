"""What the API answers, as JSON schemas: stated once, held against real answers by tests."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_MAYBE_TEXT: Schema = {"type": ["string", "null"]}
_NUMBER: Schema = {"type": "number"}
_MAYBE_NUMBER: Schema = {"type": ["number", "null"]}
_WHOLE: Schema = {"type": "integer"}
_MAYBE_WHOLE: Schema = {"type": ["integer", "null"]}
_TRUTH: Schema = {"type": "boolean"}
_ANYTHING: Schema = {}
_AMOUNT: Schema = {
    "type": ["object", "null"],
    "properties": {"epsilon": _NUMBER, "delta": _NUMBER, "rho": _NUMBER},
    "additionalProperties": False,
}


def _object(**properties: Schema) -> Schema:
    """State an object with just these fields, all of them there."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _map(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


SCHEMAS: dict[str, Schema] = {
    "Problem": {
        "type": "object",
        "properties": {
            "type": _TEXT, "title": _TEXT, "status": _WHOLE, "detail": _TEXT, "code": _TEXT,
            "charged": _TRUTH, "nearest": _MAYBE_TEXT, "requested": _AMOUNT, "remaining": _AMOUNT,
            "difference": _AMOUNT, "limit": _MAYBE_TEXT, "charge": _MAYBE_WHOLE,
        },
        "required": ["type", "title", "status", "detail", "code", "charged"],
        "additionalProperties": False,
    },
    "Dataset": _object(
        name=_TEXT, shape=_TEXT, title=_TEXT, why=_TEXT, contact=_TEXT, retention=_TEXT, unit=_TEXT,
        time_zone=_TEXT,
        purposes=_list(_TEXT), policy=_TEXT, limits=_map(_ANYTHING), bounds=_map(_list(_TEXT)),
        keys=_map(_list(_ANYTHING)), columns=_map(_TEXT), tick=_NUMBER, deadline=_NUMBER,
    ),
    "Datasets": _object(datasets=_list(_ref("Dataset"))),
    "Standing": _object(
        purpose=_MAYBE_TEXT, tightest=_TEXT,
        limits=_list(_object(scope=_TEXT, limit=_AMOUNT, spent=_AMOUNT, remaining=_AMOUNT)),
    ),
    "Dummy": _object(columns=_list(_TEXT), rows=_list(_list(_ANYTHING)), made_from=_TEXT),
    "Grants": _object(
        grants=_list(_object(id=_TEXT, purpose=_TEXT, made=_NUMBER, name=_TEXT, pseudonym=_TEXT))
    ),
    "Owners": _object(owners=_list(_object(id=_TEXT, name=_TEXT, pseudonym=_TEXT))),
    "Estimates": _object(estimates=_list({"anyOf": [_ref("Estimate"), _ref("NotPriced")]})),
    "Estimate": _object(
        fits=_TRUTH, guarantee=_AMOUNT, guarantee_in_words=_TEXT, remaining=_AMOUNT,
        mechanism=_TEXT, confidence=_NUMBER, errors=_map(_NUMBER), notes=_list(_TEXT),
        price=_map(_NUMBER),
    ),
    "NotPriced": _object(
        problem={"type": "object", "properties": {"code": _TEXT, "detail": _TEXT},
                 "required": ["code", "detail"]}
    ),
    "Answer": _object(
        columns=_list(_TEXT), rows=_list(_list(_ANYTHING)),
        intervals=_map(_list({"type": ["array", "null"], "items": _NUMBER})), confidence=_NUMBER,
        guarantee=_AMOUNT, guarantee_in_words=_TEXT, cost=_AMOUNT, stored=_TRUTH,
        notes=_list(_TEXT), remaining=_AMOUNT, artefact=_TEXT,
    ),
    "Question": _object(
        id=_TEXT, dataset=_TEXT, state={"enum": ["queued", "charged", "ready", "failed"]},
        code=_MAYBE_TEXT, charged=_TRUTH, charge=_MAYBE_WHOLE,
        answer={"anyOf": [_ref("Answer"), {"type": "null"}]},
    ),
    "History": _object(questions=_list(_object(
        id=_TEXT, dataset=_TEXT, purpose=_TEXT, state=_TEXT, code=_MAYBE_TEXT, charge=_MAYBE_WHOLE,
        made=_NUMBER,
    ))),
    "Wish": _object(id=_TEXT, state=_TEXT),
    "Wishes": _object(requests=_list(_object(
        id=_TEXT, dataset=_TEXT, amount=_TEXT, reason=_TEXT, state=_TEXT, answer=_MAYBE_TEXT,
        made=_NUMBER, pseudonym=_TEXT,
    ))),
    "Token": _object(id=_TEXT, secret=_TEXT),
    "Tokens": _object(tokens=_list(_object(
        id=_TEXT, label=_TEXT, scopes=_TEXT, made=_NUMBER, used=_MAYBE_NUMBER, ends=_MAYBE_NUMBER,
    ))),
    "Upload": _object(upload=_TEXT),
    "Suggestions": _object(
        schema_text=_TEXT, columns=_list(_object(name=_TEXT, role=_TEXT, reason=_TEXT))
    ),
    "Job": _object(
        id=_TEXT, kind=_TEXT, dataset=_MAYBE_TEXT,
        state={"enum": ["queued", "running", "cancelling", "done", "failed", "cancelled"]},
        progress=_MAYBE_TEXT, result={"type": ["object", "null"]}, code=_MAYBE_TEXT, made=_NUMBER,
        changed=_NUMBER,
    ),
    "Release": _object(
        id=_TEXT, dataset=_TEXT, kind=_TEXT, promise=_TEXT, sha256=_TEXT, entry=_WHOLE,
        made=_NUMBER, facts=_map(_ANYTHING),
    ),
    "Releases": _object(releases=_list(_ref("Release"))),
    "Envelope": _object(
        payloadType=_TEXT, payload=_TEXT, signatures=_list(_object(keyid=_TEXT, sig=_TEXT))
    ),
    "Survey": _object(
        id=_TEXT, protocol=_TEXT, told=_TEXT, warnings=_list(_TEXT), page=_TEXT
    ),
    "Recipe": _object(
        recipe=_map(_ANYTHING), answers=_list(_TEXT), told=_TEXT, send_to=_TEXT, together=_WHOLE
    ),
    "Surveys": _object(surveys=_list(_object(id=_TEXT, state=_TEXT))),
    "SurveyState": _object(id=_TEXT, state=_TEXT),
    "Receipt": _object(accepted=_WHOLE, dropped=_map(_WHOLE)),
    "Withdrawal": _object(state=_TEXT),
    "Shares": _object(reports=_WHOLE, warnings=_list(_TEXT), answers=_list(_object(
        answer=_TEXT, share=_NUMBER, standard_error=_NUMBER, interval=_list(_NUMBER),
    ))),
    "Code": _object(code=_TEXT, state=_TEXT),
    "SubjectStatus": _object(state=_TEXT, due=_MAYBE_NUMBER),
    "SubjectConfirmed": _object(id=_TEXT, state=_TEXT, due=_MAYBE_NUMBER),
    "SubjectRequests": _object(requests=_list(_object(
        id=_TEXT, kind=_TEXT, dataset=_TEXT, told=_TEXT, state=_TEXT, made=_NUMBER,
        closed=_MAYBE_NUMBER, due=_MAYBE_NUMBER,
    ))),
    "Found": {"type": "object"},
    "Entries": _object(entries=_list({"type": "object"})),
    "Proof": _object(number=_WHOLE, leaf=_TEXT, proof=_list(_TEXT), checkpoint=_ref("Envelope")),
    "Growth": _object(size=_WHOLE, to=_WHOLE, proof=_list(_TEXT), checkpoint=_ref("Envelope")),
    "Keys": _object(keys=_list(_map(_TEXT))),
    "Alive": _object(alive=_TRUTH, version=_TEXT),
    "Ready": _object(ready=_TRUTH),
}  # fmt: skip
"""Every answer by its name."""
