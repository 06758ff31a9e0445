"""The collector: every report is taken once or dropped for a reason, and what is taken stays."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading

import numpy as np
import pytest

from sfumato.errors import DataError
from sfumato.local.collect.collector import Collector, Intake
from sfumato.local.collect.survey import PROTOCOLS, Survey
from sfumato.local.collect.survey_files import write_survey
from sfumato.local.reports import Reports
from sfumato.local.wire.files import write_messages
from sfumato.local.wire.json_lines import encode_json
from sfumato.local.wire.messages import Reason, encode

ANSWERS = ("none", "one", "two", "three", "many")


def survey(protocol="OUE", *, epsilon=1, **more):
    return Survey.of(
        "cups", "How many cups?", list(ANSWERS), epsilon=epsilon, protocol=protocol, **more
    )


def people(n):
    return [ANSWERS[i * i % 5] for i in range(n)]


def test_a_batch_with_everything_in_it(tmp_path):
    agreed = survey("GRR")
    good = agreed.protocol.perturb(people(10))
    other, later, dearer = survey("OLH"), survey("GRR", version=2), survey("GRR", epsilon=2)
    strange = Reports(agreed.protocol, {"value": np.array([1, 9, 2, 200], dtype=np.uint8)})
    batch = [
        encode(good, agreed.address, nonce=b"12345678"),
        b"rubbish",
        encode(strange, agreed.address),
        encode(later.protocol.perturb(people(3)), later.address),
        encode(dearer.protocol.perturb(people(4)), dearer.address),
        encode(other.protocol.perturb(people(5)), other.address),
        encode(good, agreed.address, nonce=b"12345678"),
        encode_json(good[:6], agreed.address),
        b"",
    ]
    with Collector(agreed, tmp_path / "s.db") as collector:
        receipt = collector.receive_many(batch)
        assert receipt.accepted == 10 + 2 + 6
        assert receipt.dropped == {
            Reason.MALFORMED: 2, Reason.RANGE: 2, Reason.VERSION: 3, Reason.TERMS: 4 + 5,
            Reason.DUPLICATE: 10,
        }  # fmt: skip
        assert receipt.arrived == 18 + 26
        assert len(collector) == 18
        assert collector.dropped == receipt.dropped
        stored = np.sort(collector.reports().payload["value"])
        sent = [*good.payload["value"], 1, 2, *good.payload["value"][:6]]
        assert stored.tolist() == sorted(sent)
        assert collector.receive(b"x").record() == {"accepted": 0, "dropped": {"malformed": 1}}
        assert collector.dropped[Reason.MALFORMED] == 3


@pytest.mark.parametrize("name", PROTOCOLS)
def test_estimates_are_those_of_the_reports_however_they_came(name, tmp_path):
    agreed = survey(name)
    reports = agreed.protocol.perturb(people(3_000))
    expected = agreed.protocol.estimate(reports)
    with Collector(agreed, tmp_path / "s.db") as collector:
        for start in range(0, 2_000, 500):
            collector.receive(encode(reports[start : start + 500], agreed.address))
        first = collector.aggregate()
        assert first.n == 2_000
        collector.receive(encode_json(reports[2_000:], agreed.address))
        assert collector.aggregate() == agreed.protocol.aggregate(reports)
        assert np.array_equal(collector.estimate().frequencies, expected.frequencies)
    with Collector(agreed, tmp_path / "s.db") as again:
        assert np.array_equal(again.estimate().frequencies, expected.frequencies)
        repaired = again.estimate(consistency="norm-sub").frequencies
        assert repaired.sum() == pytest.approx(1)


def test_parts_are_read_whatever_their_size(tmp_path, monkeypatch):
    agreed = survey("OUE")
    reports = agreed.protocol.perturb(people(100))
    with Collector(agreed, tmp_path / "s.db") as collector:
        for part in reports.batches(7):
            collector.receive(encode(part, agreed.address))
        monkeypatch.setattr(type(collector._store), "TOGETHER", 20)
        assert collector.aggregate() == agreed.protocol.aggregate(reports)
        assert np.array_equal(collector.reports().payload["bits"], reports.payload["bits"])


def test_receipts_add_up():
    a = Intake(2, {Reason.RANGE: 1})
    b = Intake(3, {Reason.RANGE: 4, Reason.MALFORMED: 1})
    assert a + b == Intake(5, {Reason.RANGE: 5, Reason.MALFORMED: 1})
    assert str(a + b) == "5 accepted; 5 out of range; 1 malformed"


def test_one_person_may_be_held_to_one_report(tmp_path):
    agreed = survey("GRR")
    with Collector(agreed, tmp_path / "s.db", most_per_message=1) as collector:
        receipt = collector.receive(encode(agreed.protocol.perturb(people(3)), agreed.address))
        assert receipt == Intake(0, {Reason.OVERSIZED: 3})
        receipt = collector.receive(encode(agreed.protocol.perturb(people(1)), agreed.address))
        assert receipt == Intake(1, {})


def test_reports_can_be_neither_changed_nor_removed(tmp_path):
    agreed = survey()
    with Collector(agreed, tmp_path / "s.db") as collector:
        collector.receive(encode(agreed.protocol.perturb(people(3)), agreed.address))
    file = sqlite3.connect(tmp_path / "s.db")
    for statement in ("DELETE FROM batches", "UPDATE batches SET reports = 9"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            file.execute(statement)
    columns = [row[1] for row in file.execute("PRAGMA table_info(batches)")]
    assert columns == ["number", "nonce", "reports", "rows"]  # no time, no address, no person
    assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    file.close()


def test_a_store_serves_one_survey_and_no_other_file_is_touched(tmp_path):
    with Collector(survey(), tmp_path / "s.db"):
        pass
    for other in (survey(epsilon=2), survey(version=2), survey("SUE")):
        with pytest.raises(DataError, match="on other terms"):
            Collector(other, tmp_path / "s.db")
    (tmp_path / "text").write_text("hello, this is not a database at all")
    foreign = sqlite3.connect(tmp_path / "foreign")
    foreign.execute("CREATE TABLE t (x)")
    foreign.commit()
    foreign.close()
    before = {name: (tmp_path / name).read_bytes() for name in ("text", "foreign")}
    for name in (*before, "no/such/folder"):
        with pytest.raises(DataError):
            Collector(survey(), tmp_path / name)
    assert before == {name: (tmp_path / name).read_bytes() for name in before}
    with (
        Collector(survey(), tmp_path / "s.db") as empty,
        pytest.raises(DataError, match="no reports"),
    ):
        empty.estimate()


def test_threads_share_a_collector(tmp_path):
    agreed = survey("GRR")
    messages = [encode(agreed.protocol.perturb(people(3)), agreed.address) for _ in range(60)]
    with Collector(agreed, tmp_path / "s.db") as collector:

        def work(part):
            for message in part:
                collector.receive(message)
                collector.aggregate()

        threads = [threading.Thread(target=work, args=(messages[i::3],)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(collector) == 180
        assert collector.aggregate() == agreed.protocol.aggregate(collector.reports())


WORKER = """
import sys, time
from sfumato.local.collect.collector import Collector
from sfumato.local.collect.survey_files import read_survey
from sfumato.local.wire.files import pieces
time.sleep(max(0.0, float(sys.argv[4]) - time.time()))
with Collector(read_survey(sys.argv[1]), sys.argv[2]) as collector:
    print("ready", flush=True)
    for message in pieces(sys.argv[3]):
        print(collector.receive(message).accepted, flush=True)
"""


def start(folder, reports, agreed, name, *, together, at=0.0):
    survey_file = write_survey(agreed, folder / f"{name}.yaml")
    file = folder / f"{name}.bin"
    file.write_bytes(b"".join(encode(p, agreed.address) for p in reports.batches(together)))
    command = [sys.executable, "-c", WORKER, str(survey_file), str(folder / "s.db"), str(file)]
    return subprocess.Popen([*command, str(at)], stdout=subprocess.PIPE, text=True), file


def test_killed_half_way_it_loses_the_batch_in_flight_at_most(tmp_path):
    agreed = survey("OUE")
    reports = agreed.protocol.perturb(people(30_000))
    worker, file = start(tmp_path, reports, agreed, "w", together=10)
    assert worker.stdout.readline() == "ready\n"
    acknowledged = sum(int(worker.stdout.readline()) for _ in range(25))
    os.kill(worker.pid, signal.SIGKILL)
    acknowledged += sum(int(line) for line in worker.stdout if line.endswith("\n"))
    assert worker.wait(120) == -signal.SIGKILL
    assert 250 <= acknowledged < 30_000, "it was killed at work"
    check = sqlite3.connect(tmp_path / "s.db")
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()
    with Collector(agreed, tmp_path / "s.db") as collector:
        stored = len(collector)
        assert acknowledged <= stored <= acknowledged + 10
        assert stored % 10 == 0
        assert np.array_equal(collector.reports().payload["bits"], reports[:stored].payload["bits"])
        receipt = collector.receive_file(file)  # the sender does not know, and sends all again
        assert receipt == Intake(30_000 - stored, {Reason.DUPLICATE: stored})
        assert collector.aggregate() == agreed.protocol.aggregate(reports)


def test_two_processes_fill_one_store_at_once(tmp_path):
    import time

    agreed = survey("GRR")
    parts = [agreed.protocol.perturb(people(600)) for _ in range(2)]
    at = time.time() + 3  # both make the store at the same moment
    workers = [
        start(tmp_path, part, agreed, f"w{i}", together=10, at=at)[0]
        for i, part in enumerate(parts)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
        assert sum(int(line) for line in worker.stdout) == 600
        assert worker.wait(120) == 0
    with Collector(agreed, tmp_path / "s.db") as collector:
        assert collector.aggregate() == agreed.protocol.aggregate(parts[0] + parts[1])


def test_a_file_is_taken_in_transactions_and_only_once(tmp_path):
    agreed = survey("OLH")
    reports = agreed.protocol.perturb(people(500))
    write_messages(tmp_path / "r.bin", reports, agreed.address)
    (tmp_path / "r.bin").write_bytes((tmp_path / "r.bin").read_bytes() + b"torn")
    with Collector(agreed, tmp_path / "s.db") as collector:
        assert collector.receive_file(tmp_path / "r.bin") == Intake(500, {Reason.MALFORMED: 1})
        assert collector.receive_file(tmp_path / "r.bin").accepted == 0
        assert len(collector) == 500
        with pytest.raises(DataError, match="cannot be read"):
            collector.receive_file(tmp_path / "none")


def test_a_receipt_is_what_a_page_expects():
    text = json.dumps(Intake(1, {Reason.DUPLICATE: 2}).record())
    assert text == '{"accepted": 1, "dropped": {"sent twice": 2}}'


def test_the_limit_holds_for_a_body_of_many_messages(tmp_path):
    agreed = survey("GRR")
    single = [encode(agreed.protocol.perturb(people(1)), agreed.address) for _ in range(50)]
    lines = b"\n".join(
        encode_json(agreed.protocol.perturb(people(1)), agreed.address) for _ in "ab"
    )
    with Collector(agreed, tmp_path / "s.db", most_per_message=1) as collector:
        assert collector.receive(b"".join(single)) == Intake(0, {Reason.OVERSIZED: 50})
        assert collector.receive(lines) == Intake(0, {Reason.OVERSIZED: 2})
        assert collector.receive_many(single[:3]) == Intake(3, {})  # three bodies
        assert len(collector) == 3


def test_others_may_write_while_somebody_reads(tmp_path, monkeypatch):
    agreed = survey("GRR")
    messages = [encode(agreed.protocol.perturb(people(3)), agreed.address) for _ in range(3)]
    with Collector(agreed, tmp_path / "s.db") as collector:
        collector.receive_many(messages[:2])
        monkeypatch.setattr(type(collector._store), "TOGETHER", 1)
        reading = collector._store.read(0)
        assert len(next(reading)[1]) == 3  # the reader stops in the middle, as for decoding
        writer = threading.Thread(target=collector.receive, args=(messages[2],), daemon=True)
        writer.start()
        writer.join(20)
        assert not writer.is_alive()
        assert [len(rows) for _, rows in reading] == [3, 3]
