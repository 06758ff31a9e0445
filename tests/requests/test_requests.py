"""One model per request: what the command line, an HTTP body and a form may contain."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel

import sfumato as sf
from sfumato import requests
from sfumato.cli import run
from sfumato.cli.commands import application
from sfumato.cli.options.bridge import request_from
from sfumato.errors import ParameterError
from sfumato.requests.anonymize import AnonymizeCommand, AnonymizeRequest
from sfumato.requests.ask import AskCommand, AskRequest
from sfumato.requests.request import Request


def _models():
    for file in sorted(Path(requests.__file__).parent.glob("*.py")):
        module = import_module(f"sfumato.requests.{file.stem}")
        for name, found in vars(module).items():
            own = inspect.isclass(found) and found.__module__ == module.__name__
            if own and issubclass(found, Request) and found is not Request:
                yield pytest.param(found, id=f"{file.stem}-{name}")


@pytest.mark.parametrize("model", list(_models()))
def test_every_model_has_a_schema_that_openapi_can_hold(model):
    schema = json.loads(json.dumps(model.model_json_schema()))
    assert schema["additionalProperties"] is False
    for name, field in model.model_fields.items():
        shown = schema["properties"][name]
        piece = inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel)
        assert piece or name == "promise" or shown.get("description"), f"{name} is not described"


def test_the_body_of_a_request():
    wanted = AnonymizeRequest.of(
        {
            "promise": [
                {"definition": "KAnonymity", "k": 5},
                {"definition": "DistinctLDiversity", "l": 2, "attribute": "d"},
            ],
            "suppression": 0.05,
            "options": {"strict": False},
            "perturbation": {"noise": [["age", 2.5]]},
        }
    )
    assert wanted.promise == sf.KAnonymity(5) & sf.DistinctLDiversity(2, "d")
    assert wanted.options == {"strict": False}
    asked = AskRequest.of({"question": "SELECT 1", "price": {"epsilon": 0.1}, "blocks": [1, 3]})
    assert asked.price.given()["epsilon"] == "0.1"
    assert asked.blocks == (1, 3)


def test_the_schema_names_every_definition_and_its_parameters():
    shown = json.dumps(AnonymizeRequest.model_json_schema()["properties"]["promise"])
    for name, parameter in (
        ("KAnonymity", '"on"'),
        ("TCloseness", "hierarchical"),
        ("KMap", '"k"'),
    ):
        assert name in shown
        assert parameter in shown


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"suppression": 2}, "'suppression' must be less than or equal to 1"),
        ({"supression": 0.1}, "'supression' is unknown.*Did you mean 'suppression'"),
        ({"promise": [{"definition": "KAnonymity"}]}, "needs k"),
        ({"promise": [{"definition": "os:system"}]}, "cannot be rebuilt"),
        ({"promise": {"own": ["os:system"]}}, "list of mappings"),
        ({"perturbation": {"noise": ["age"]}}, "attribute and a number"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(given, match):
    with pytest.raises(ParameterError, match=match):
        AnonymizeRequest.of(given)


def test_the_command_line_says_it_in_flags():
    files = {"data": "a.csv", "schema_file": "a.yaml", "output": "out"}
    with pytest.raises(ParameterError, match="'--suppression' must be less than or equal to 1"):
        request_from(AnonymizeCommand, {**files, "suppression": 1.2})
    with pytest.raises(ParameterError, match="--blocks wants numbers"):
        request_from(AskCommand, {"data": "a.csv", "question": "SELECT 1", "blocks": "one"})
    request = request_from(
        AnonymizeCommand, {**files, "k": ["5"], "k_map": "3", "noise": ["age:2"], "sweep": "k=2,3"}
    )
    assert request.wanted.promise == sf.KAnonymity(5) & sf.KMap(3)
    assert request.wanted.perturbation.noise == (("age", 2.0),)
    assert request.utility.sweep == (2, 3)
    assert request.wanted.algorithm == "optimal"


def test_no_command_function_has_forty_parameters():
    app = application()
    groups = [app, *(group.typer_instance for group in app.registered_groups)]
    commands = [command for group in groups for command in group.registered_commands]
    assert len(commands) > 20
    for command in commands:
        function = inspect.unwrap(command.callback)
        code = function.__code__
        assert code.co_argcount + code.co_kwonlyargcount <= 12, function.__name__


VOTES = """
from dataclasses import dataclass
from pathlib import Path
import numpy as np
import sfumato as sf
from pydantic import BaseModel, Field
from sfumato.anonymize.definitions.classes import Classes
from sfumato.decision import Decision, SearchRecord
from sfumato.released.view import View


class Options(BaseModel):
    keep: int | None = Field(None, ge=1, description="Letters kept of each word.")


@dataclass(frozen=True)
class Words:
    lines: tuple
    name: str = "words"
    shape = "words"

    def __len__(self):
        return len(self.lines)

    def write(self, folder, file_format=None):
        path = Path(folder) / "release.txt"
        path.write_text("".join(f"{line}\\n" for line in sorted(self.lines)))
        return path

    def manifest(self):
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class WordsView(View):
    shape, unit = "words", "word"
    lines: tuple
    records = property(lambda self: len(self.lines))

    def groups(self, definition=None):
        return Classes(np.array([self.lines.count(line) for line in sorted(set(self.lines))]))

    def describe(self, group):
        return {"word": sorted(set(self.lines))[group]}


def cut(data, promise, *, progress=None, keep=99):
    return Decision(record=SearchRecord("cut", proven_optimal=False), content=keep)


class Shape(sf.Shape):
    name, unit, files = "words", "word", ("release.txt",)
    options = {"anonymize": Options}

    def read(self, source, *, schema=None, **options):
        return Words(tuple(Path(source).read_text().split()))

    def algorithms(self):
        return {"cut": cut}

    def apply(self, data, decision):
        return Words(tuple(line[: decision.content] for line in data.lines))

    def view(self, source, *, schema=None, called=None, **options):
        lines = source.lines if isinstance(source, Words) else Path(source).read_text().split()
        return WordsView(source=called or "words", lines=tuple(lines))


SHAPE = Shape()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [str(tmp_path), *__import__("sys").path])
    (tmp_path / "own_words.py").write_text(VOTES)
    (tmp_path / "words.txt").write_text("ann\nanton\nbea\nbert\n")
    return tmp_path


def test_a_shape_brings_its_options_to_the_command_line(folder, capsys):
    shape = ["--shape", "own_words:SHAPE"]
    assert run(["anonymize", *shape, "--help"]) == 0
    told = capsys.readouterr().out
    assert "--keep" in told
    assert "Letters kept of each word." in told
    assert "--population" not in told
    line = ["anonymize", "words.txt", "-k", "2", "-o", "out", *shape]
    assert run(line) == 1  # whole words single people out
    assert run([*line, "--keep", "1"]) == 0
    assert (folder / "out" / "release.txt").read_text() == "a\na\nb\nb\n"
    assert run(["verify", "out/release.txt", "--shape=words", "-k", "2"]) == 0
    assert run(["verify", "out/release.txt", "--shape", "words", "-k", "3"]) == 1
    assert "4 words in 2 classes" in capsys.readouterr().out
    assert run(["attack", "out", "--shape", "words", "-q"]) == 0


def test_a_shape_that_is_not_there(folder, capsys):
    assert run(["verify", "words.txt", "--shape", "wrods", "-k", "2"]) == 2
    assert "There is no shape 'wrods'" in " ".join(capsys.readouterr().err.split())
    assert typer.main.get_command(application(["verify", "--shape", "table"])) is not None
