"""Surveys as files: YAML that a person can read and change, or JSON.

Contract: ``read_survey(write_survey(survey)) == survey``, and a file with an unknown, missing or
misspelt entry is refused by name. Every scalar is read as text (:mod:`sfumato.data.yaml_files`),
so the answers ``no`` and ``07`` stay what they are.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from sfumato.data.atomic import write_text_atomically
from sfumato.data.yaml_files import dump_entry, load_yaml
from sfumato.errors import SchemaError
from sfumato.local.collect.survey import Survey, plain_number

_NEEDED = ("id", "question", "answers", "epsilon")
_KNOWN = (*_NEEDED, "version", "protocol", "told", "asked_by", "about", "send_to", "remember")
_YES = {"yes": True, "true": True, "no": False, "false": False, "": False}
_ABOUT = """\
# A survey under local differential privacy. Everybody may read this file.
# Raise the version whenever the question, the answers, the protocol or epsilon change:
# reports made on other terms are recognised and not counted.
"""


def read_survey(path: str | Path) -> Survey:
    """Read a survey from YAML or JSON."""
    found = load_yaml(path, SchemaError, "survey")
    if not isinstance(found, dict):
        raise SchemaError(f"Survey {path} must be entries such as 'question: …'.")
    _refuse_unknown(found, path)
    try:
        return _survey(found)
    except SchemaError as error:
        raise SchemaError(f"Survey {path}: {error}") from None


def _refuse_unknown(found: dict[str, Any], path: str | Path) -> None:
    for name in found:
        if name not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" Known are {', '.join(_KNOWN)}."
            raise SchemaError(f"Survey {path} has an unknown entry {name!r}.{hint}")
    missing = [name for name in _NEEDED if name not in found]
    if missing:
        raise SchemaError(f"Survey {path} lacks {', '.join(missing)}.")


def _survey(found: dict[str, Any]) -> Survey:
    answers = found["answers"]
    if not isinstance(answers, list):
        raise SchemaError("the answers are a list, as in 'answers: [yes, no]'.")
    texts = {name: value for name, value in found.items() if name != "answers"}
    for name, value in texts.items():
        if not isinstance(value, str):
            raise SchemaError(f"'{name}' is a single value.")
    version, remember = texts.get("version", "1"), texts.get("remember", "").lower()
    if not version.isascii() or not version.isdigit() or len(version) > 5:
        raise SchemaError("the version is a whole number.")
    if remember not in _YES:
        raise SchemaError("'remember' is yes or no.")
    survey = Survey.of(
        texts["id"],
        texts["question"],
        answers,
        epsilon=texts["epsilon"],
        protocol=texts.get("protocol") or None,
        version=int(version),
        asked_by=texts.get("asked_by", ""),
        about=texts.get("about", ""),
        send_to=texts.get("send_to", ""),
        remember=_YES[remember],
    )
    if texts.get("told", survey.told) != survey.told:
        raise SchemaError(
            "'told' is not what this protocol and epsilon promise. Delete the entry and the true "
            "sentence is shown; your own explanation goes under 'about'."
        )
    return survey


def survey_text(survey: Survey) -> str:
    """Return the file of a survey."""
    entries: dict[str, Any] = {
        "id": survey.id,
        "version": survey.version,
        "question": survey.question,
        "answers": list(survey.answers),
        "protocol": survey.protocol_name,
        "epsilon": plain_number(survey.epsilon),
        "told": survey.told,
        "asked_by": survey.asked_by,
        "about": survey.about,
        "send_to": survey.send_to,
        "remember": survey.remember,
    }
    lines = [dump_entry(name, value).rstrip("\n") for name, value in entries.items() if value]
    return _ABOUT + "\n".join(lines) + "\n"


def write_survey(survey: Survey, path: str | Path) -> Path:
    """Write the file of a survey and return its path."""
    write_text_atomically(path, survey_text(survey))
    return Path(path)
