"""Spending: priced, charged, done, settled; the same at the same moment is paid once."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from fractions import Fraction

import pytest

import sfumato as sf
from sfumato.dp.accounting.costs import Cost
from sfumato.dp.guarantee_json import guarantee_from_json
from sfumato.dp.neighbours import Unit
from sfumato.errors import (
    AlreadyUnderWay,
    BudgetExceeded,
    GovernanceError,
    ParameterError,
    PurposeRefused,
    WorkFailed,
)
from sfumato.govern import EqualShares, Ledger, Limits, Plan, Registration, Spending
from sfumato.govern.ledger.tentative import TentativeLedger

TENTH = Cost("0.1")


def registered(ledger, **changes):
    rules = Registration("d", **{"limits": Limits(sf.PureDP(1)), **changes})
    ledger.register(rules)
    return ledger


def spending_on(ledger, **changes):
    return Spending(**{"ledger": ledger, "dataset": "d", "analyst": "ann", "fingerprint": "rows",
                       **changes})  # fmt: skip


def plan(_, cost=TENTH):
    return Plan(cost, sf.PureDP(float(cost.epsilon)))


def kinds(ledger):
    return [entry.kind for entry in ledger.entries()]


def test_the_same_is_bought_once_and_given_again(ledger):
    one = spending_on(registered(ledger))
    done = []
    for _ in range(3):
        found = one.spend(plan, lambda bought: done.append(bought) or {"n": 7}, what="a")
        assert found == {"n": 7}
    assert len(done) == 1
    assert kinds(ledger) == ["registered", "charged", "answered", "repeated", "repeated"]
    assert one.remaining.epsilon == 0.9
    for changed in ({"analyst": "bob"}, {"fingerprint": "other rows"}):
        spending_on(ledger, **changed).spend(plan, lambda _: 8, what="a")
    assert one.remaining.epsilon == 0.7
    assert ledger.verify().ok


def test_a_charge_is_on_disk_before_the_work_begins(ledger):
    one = spending_on(registered(ledger))

    def work(bought):
        assert kinds(ledger)[-1] == "charged"
        assert ledger.entry(bought.receipt.number).question == "a"
        return 1

    one.spend(plan, work, what="a")


def test_details_and_guarantee_are_read_back(ledger):
    one = spending_on(registered(ledger))
    one.spend(
        lambda _: Plan(TENTH, sf.PureDP("0.1"), details={"k": 3, "columns": ["x"]}),
        lambda _: 1,
        what="clusters",
    )
    (entry,) = [entry for entry in ledger.entries() if entry.kind == "charged"]
    assert guarantee_from_json(entry.details["guarantee"]) == sf.PureDP(0.1)
    assert (entry.details["k"], entry.details["columns"]) == (3, ["x"])
    with pytest.raises(ParameterError, match="plain JSON"):
        one.spend(lambda _: Plan(TENTH, sf.PureDP(1), details={"x": {1}}), lambda _: 1, what="b")


def test_results_that_are_no_json_are_dumped_and_loaded(ledger):
    one = spending_on(registered(ledger))
    words = {
        "dump": lambda found: json.dumps(str(found)),
        "load": lambda t: Fraction(json.loads(t)),
    }
    for _ in range(2):
        assert one.spend(plan, lambda _: Fraction(1, 3), what="a", **words) == Fraction(1, 3)


def _fraction(text):
    return Fraction(json.loads(text))


def test_several_are_charged_as_one_and_known_ones_are_left_out(ledger):
    one = spending_on(registered(ledger))
    one.spend(plan, lambda _: "old", what="a")
    planned = []

    def together(_, new):
        planned.append(new)
        return Plan(Cost("0.2"), sf.PureDP(0.2))

    found = one.spend_together(
        together,
        lambda bought: [text.upper() for text in bought.wanted],
        what=["a", "b", "c", "b"],
        load=lambda _, stored: json.loads(stored),
    )
    assert found == {"a": "old", "b": "B", "c": "C"}
    assert planned == [("b", "c")]
    assert one.remaining.epsilon == 0.7
    assert one.spend(plan, lambda _: "new", what="c") == "C"


@pytest.mark.parametrize(
    ("error", "code"), [(ValueError("cell 42"), "engine-failed"), (AssertionError(), "internal")]
)
def test_an_error_stays_charged_and_tells_nothing(ledger, error, code):
    one = spending_on(registered(ledger))

    def work(_):
        raise error

    with pytest.raises(WorkFailed) as told:
        one.spend(plan, work, what="a")
    assert told.value.code == code
    assert ledger.entry(told.value.charge).kind == "charged"
    assert told.value.__cause__ is told.value.__context__ is None
    assert "42" not in str(told.value)
    assert one.remaining.epsilon == 0.9
    assert one.spend(plan, lambda _: 5, what="a") == 5  # which is paid anew
    assert one.remaining.epsilon == 0.8
    assert ledger.verify().ok


def test_an_interrupt_is_recorded_and_goes_on(ledger):
    one = spending_on(registered(ledger))

    def work(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one.spend(plan, work, what="a")
    assert ledger.entries()[-1].details == {"reason": "interrupted"}


def test_what_does_not_fit_is_not_begun(ledger):
    one = spending_on(registered(ledger, purposes=("care",)), purpose="care")
    with pytest.raises(BudgetExceeded):
        one.spend(lambda _: plan(_, Cost(2)), lambda _: pytest.fail("begun"), what="a")
    with pytest.raises(PurposeRefused):
        spending_on(ledger, purpose="sale").spend(plan, lambda _: 1, what="a")
    assert kinds(ledger) == ["registered"]


def test_a_promise_about_another_unit_is_refused(ledger):
    one = spending_on(registered(ledger), unit=Unit("patient", rows=3))
    with pytest.raises(GovernanceError, match="about one patient"):
        one.spend(plan, lambda _: 1, what="a")
    promise = sf.PureDP(0.3, neighbours=one.neighbours)
    assert one.spend(lambda _: Plan(Cost("0.3"), promise), lambda _: 1, what="a") == 1


def test_a_policy_is_obeyed_whoever_comes_first(ledger):
    one = spending_on(registered(ledger, policy=EqualShares(4)))
    moments = []

    def by_policy(now):
        if not moments:  # somebody else comes first, once
            moments.append(None)
            spending_on(ledger, analyst="bob").spend(by_policy, lambda _: 1, what="a")
        moments.append(now.position("dataset"))
        amount = one.amount(now)
        return Plan(Cost(amount), sf.PureDP(float(amount)))

    one.spend(by_policy, lambda _: 1, what="a")
    assert moments == [None, 0, 0, 1]
    assert one.remaining.epsilon == 0.5


# -- the same at the same moment ------------------------------------------------------------


def slowly(bought):
    time.sleep(0.3)
    return bought.receipt.number


def test_threads_of_one_ledger_pay_once(ledger):
    one = spending_on(registered(ledger))
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(one.spend(plan, slowly, what="a")))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(set(found)) == 1
    assert kinds(ledger).count("charged") == 1
    assert kinds(ledger).count("repeated") == 4


def test_others_are_not_kept_waiting(ledger):
    one, other = spending_on(registered(ledger)), spending_on(ledger, analyst="bob")
    inside = []

    def work(_):
        inside.append(other.spend(plan, lambda _: "bob's", what="a"))
        inside.append(one.spend(plan, lambda _: "another", what="b"))
        return 1

    one.spend(plan, work, what="a")
    assert inside == ["bob's", "another"]


def test_ledgers_of_one_place_in_one_process_pay_once(place):
    with Ledger(place) as first, Ledger(place) as second:
        registered(first)
        found = []
        threads = [
            threading.Thread(
                target=lambda at=at: found.append(spending_on(at).spend(plan, slowly, what="a"))
            )
            for at in (first, second)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(set(found)) == 1
        assert kinds(first).count("charged") == 1


def test_processes_pay_once(place, in_child):
    with Ledger(place) as ledger:
        registered(ledger)

    def run():
        with Ledger(place) as mine:
            return spending_on(mine).spend(plan, slowly, what="a")

    children = [in_child(run) for _ in range(4)]
    ended = [in_child.wait(child) for child in children]
    assert len(set(ended)) == 1
    assert ended[0][0] == 0
    with Ledger(place) as ledger:
        assert kinds(ledger).count("charged") == 1
        assert kinds(ledger).count("repeated") == 3
        assert ledger.verify().ok


def test_if_the_first_dies_its_charge_stays_and_the_second_pays(place, in_child):
    with Ledger(place) as ledger:
        registered(ledger)
    told, tell = os.pipe()
    seen, go_on = os.pipe()

    def dies(_):
        os.write(tell, b"x")
        os.read(seen, 1)  # until the other has been refused, however slow the machine is
        os.kill(os.getpid(), signal.SIGKILL)

    def first():
        spending_on(Ledger(place)).spend(plan, dies, what="a")

    child = in_child(first)
    os.read(told, 1)
    with Ledger(place) as ledger:
        with pytest.raises(AlreadyUnderWay):
            spending_on(ledger).spend(plan, slowly, what="a", wait=0.05)
        assert kinds(ledger).count("charged") == 1
        os.write(go_on, b"x")
        assert spending_on(ledger).spend(plan, lambda _: "paid", what="a") == "paid"
        assert in_child.wait(child) == (signal.SIGKILL, -1)
        assert kinds(ledger) == ["registered", "charged", "charged", "answered"]
        assert spending_on(ledger).remaining.epsilon == 0.8
        assert ledger.verify().ok
    for end in (told, tell, seen, go_on):
        os.close(end)


def test_two_who_want_the_same_things_in_another_order_do_not_block(place, in_child):
    with Ledger(place) as ledger:
        registered(ledger)

    def run(order):
        def child():
            with Ledger(place) as mine:
                spending_on(mine).spend_together(
                    lambda _, __: plan(_), lambda bought: [slowly(bought)] * len(bought.wanted),
                    what=order, load=lambda _, stored: json.loads(stored), wait=20,
                )  # fmt: skip

        return child

    children = [in_child(run(order)) for order in (["a", "b", "c"], ["c", "b", "a"])]
    assert [in_child.wait(child) for child in children] == [(0, 0)] * 2
    with Ledger(place) as ledger:
        assert kinds(ledger).count("charged") == 1


def test_two_sessions_of_one_analyst_pay_once(tmp_path):
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 500)
    found, file = [], tmp_path / "t.csv"
    sessions = [sf.Session(file, unit="row", budget=sf.PureDP(1)) for _ in range(2)]
    ready = threading.Barrier(2, timeout=120)

    def ask(session):
        ready.wait()
        found.append(session.sql("SELECT COUNT(*) FROM t", epsilon="0.25").value)

    threads = [threading.Thread(target=ask, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert found[0] == found[1]
    assert sessions[0].remaining.epsilon == 0.75


# -- a first purchase -----------------------------------------------------------------------


def test_nothing_is_registered_before_a_first_plan_fits(tmp_path):
    place = tmp_path / "new.sqlite"
    with TentativeLedger.before(str(place), "d") as ledger:
        one = spending_on(registered(ledger))
        with pytest.raises(BudgetExceeded):
            one.spend(lambda _: plan(_, Cost(2)), lambda _: 1, what="a")
        assert not place.exists()
        assert one.spend(plan, lambda _: 1, what="a") == 1
        assert one.remaining.epsilon == 0.9
    with Ledger(place, create=False) as kept:
        assert kinds(kept) == ["registered", "charged", "answered"]
        assert kept.verify().ok


def test_a_plan_that_buys_something_itself_registers_once(tmp_path):
    with TentativeLedger.before(str(tmp_path / "new.sqlite"), "d") as ledger:
        one = spending_on(registered(ledger))
        bought = []

        def with_a_pilot(now):
            if not bought:
                bought.append(one.spend(plan, lambda _: 12, what="pilot"))
            return plan(now)

        one.spend(with_a_pilot, lambda _: 1, what="a")
        assert kinds(ledger) == ["registered", "charged", "answered", "charged", "answered"]


def test_the_example_of_the_module_runs():
    from doctest import testmod

    from sfumato.govern import spending

    found = testmod(spending)
    assert found.attempted > 5
    assert found.failed == 0
