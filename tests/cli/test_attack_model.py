"""`sfumato attack model` shows what privacy changes, and refuses in a sentence."""

import numpy as np
import pytest

from sfumato.cli import run


def write(path, rows=400):
    generator = np.random.default_rng(0)
    table = generator.random((rows, 3))
    table[:, 2] = table[:, 2] > 0.5
    labels = np.where(table @ [1, -1, 0.5] + generator.normal(0, 0.1, rows) > 0.2, "bad", "good")
    lines = [
        f"{a:.4f},{b:.4f},{c:.4f},{label}" for (a, b, c), label in zip(table, labels, strict=True)
    ]
    path.write_text("a,b,c,label\n" + "\n".join(lines) + "\n", "utf-8")
    return str(path)


def test_the_table_is_printed(tmp_path, capsys):
    assert run(["attack", "model", write(tmp_path / "rows.csv"), "label", "-e", "1"]) == 0
    shown = capsys.readouterr().out
    for word in ("plain", "clipped", "private", "not private", "Guessed attribute: c,"):
        assert word in shown


@pytest.mark.parametrize(
    ("words", "told"),
    [(["nobody"], "no column"), (["label", "--bounds", "1,0"], "--bounds"),
     (["label", "-e", "much"], "numbers"), (["a"], "two classes"),
     (["label", "--hidden", "label"], "--hidden names a column"),
     (["label", "--hidden", "a"], "two to 32 different values")],
)  # fmt: skip
def test_bad_input(tmp_path, capsys, words, told):
    assert run(["attack", "model", write(tmp_path / "rows.csv"), *words]) == 2
    assert told in capsys.readouterr().err


def test_no_cell_is_quoted(tmp_path, capsys):
    path = tmp_path / "broken.csv"
    path.write_text('a,label\n"secret,1\n2', "utf-8")
    assert run(["attack", "model", str(path), "label"]) == 2
    assert "secret" not in capsys.readouterr().err
