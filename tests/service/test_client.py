"""`sf.connect`: a server is asked as a session is."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato import errors

from .live import serving
from .setup_site import make_site


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    settings, [token, _] = make_site(tmp_path_factory.mktemp("c") / "site", analysts=2, budget="3")
    with serving(settings.folder) as live:
        client = sf.connect(live.address, token=token)
        yield client.session(client.datasets()[0], purpose="research")
        client.close()


def test_an_answer_is_an_answer(session):
    before = session.spent["epsilon"]
    estimate = session.estimate("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    assert estimate["fits"]
    answer = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    low, high = answer.interval()
    assert low <= answer.value <= high
    assert "n" in str(answer)
    assert answer.picture().startswith("<svg")
    again = session.sql("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    assert again.stored
    assert again.value == answer.value
    assert session.spent["epsilon"] == before + 0.5
    assert session.remaining["epsilon"] == 2.5 - before
    assert len(session.dummy(3)["rows"]) == 3


def test_keys_and_bounds_go_along(session):
    answer = session.sql(
        "SELECT sex, SUM(age) AS total FROM people GROUP BY sex", epsilon=0.5,
        keys={"sex": ["female", "male"]}, bounds={},
    )  # fmt: skip
    assert answer.keys == ("sex",)
    assert len(answer.rows) == 2


def test_errors_are_those_of_a_session(session):
    with pytest.raises(errors.BudgetExceeded):
        session.sql("SELECT COUNT(*) FROM people", epsilon=50)
    with pytest.raises(errors.Refused) as refused:
        session.sql("SELECT name FROM people", epsilon=1)
    assert refused.value.code
    with pytest.raises(errors.Refused):
        session.estimate("SELECT name FROM people", epsilon=1)
    other = sf.connect(f"http://{session._client._parts.netloc}", token="sfm_wrong")
    with pytest.raises(errors.GovernanceError, match="token"):
        other.datasets()


def test_a_token_is_not_sent_in_the_clear():
    with pytest.raises(errors.ParameterError, match="https"):
        sf.connect("http://data.example.org", token="sfm_x")
    with pytest.raises(errors.ParameterError):
        sf.connect("ftp://data.example.org", token="sfm_x")
