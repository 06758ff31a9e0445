"""`sfumato ledger show` tells questions, promises and costs, at any width of the terminal."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.cli.display.terminal import out
from sfumato.errors import DataError

WHOLE = (
    "SELECT sex, COUNT(*) FROM patients WHERE age > 35 AND salary < 90000 GROUP BY sex IN "
    "('female', 'male')"
)
ASKED = "SELECT sex, COUNT(*) FROM patients WHERE age > 35 AND salary < 90000 GROUP BY sex"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Keep a ledger with a charge, a repetition, questions asked together and a failure."""
    folder = tmp_path_factory.mktemp("clinic")
    data = sf.examples.patients(200, seed=2)
    data.write(folder)
    ledger = folder / "here.sqlite"
    with sf.Session(
        folder / "patients.csv", unit="row", budget=sf.PureDP(9), ledger=str(ledger),
        analyst="ann\x1b[31m", keys={"sex": ["female", "male"]}, bounds={"age": (0, 100)},
        public_types=True,
    ) as one:  # fmt: skip
        for _ in range(2):
            one.sql(ASKED, epsilon="0.25")
        one.together(["SELECT SUM(age) FROM patients", "SELECT COUNT(*) FROM patients"], epsilon=1)
        one.sql("SELECT COUNT(*) FROM patients", accuracy=20)
        one.histogram("salary", bins=list(range(0, 200_001, 5_000)), epsilon=1)
        one.desk.opened.engine.aggregate = None
        with pytest.raises(DataError):
            one.sql("SELECT COUNT(*) FROM patients WHERE age > 1", epsilon=1)
    return ledger


@pytest.fixture
def show(place, capsys, monkeypatch):
    def shown(*given, width=80, code=0):
        monkeypatch.setattr(out, "width", width)
        assert run(["ledger", "show", *map(str, given), "-L", str(place)]) == code
        return capsys.readouterr()

    yield shown
    monkeypatch.undo()


@pytest.mark.parametrize("width", [80, 100, 160])
def test_questions_promises_costs_and_states_are_told(show, width):
    text = show(width=width).out
    words = " ".join(text.split())
    for part in (
        WHOLE,
        "cost: ε = 0.25, for pure differential privacy with ε = 0.25 for one row added or removed",
        "SELECT SUM(CLAMP(age, 0, 100)) FROM patients",
        "asked at ε = 1 each",
        "asked within ± 20",
        "charged, answered patients ann [31m",
        "repeated 2",
        "the answer was given again, for nothing",
        "charged, failed (engine-failed)",
        "limits: ε = 9 in all",
        "policy: free choice",
    ):
        assert part in words, part
    assert "\x1b[31m" not in text
    assert '":' not in text
    assert max(map(len, text.splitlines())) <= width


def test_a_long_question_is_cut_in_the_list_and_whole_on_its_own(show):
    text = show(width=80).out
    assert "195000" not in text
    number = int(text.partition("all of it: sfumato ledger show ")[2].split()[0])
    whole = " ".join(show(number, width=80).out.split())
    assert "WHEN salary < 195000 THEN '190000–194999'" in whole
    assert "no outcome becomes more than 2.719 times more likely" in whole
    assert "canonical question: {" in whole
    assert "hash: " in whole


def test_one_entry_or_a_sentence(show, place):
    assert "charged, answered" in show(2).out
    assert "answered 2" in show(3).out
    assert "unit: row" in show(1).out
    assert "The ledger has no entry 99" in show(99, code=2).err
    with sf.Ledger(str(place)) as ledger:
        count = ledger.count()
    assert f"it has {count}" in show(0, code=2).err


def test_the_last_entries_stand_for_themselves(show):
    text = show("--last", 1).out
    assert "the last 1" in text
    assert "failed 11" in text
    assert "SELECT" not in text
