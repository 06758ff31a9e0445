"""The JavaScript client in Chromium: the same bytes, exact decisions, exact distributions."""

from __future__ import annotations

import hmac
import json
import math
import struct
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chi2, norm

from sfumato.local.collect.collector import Collector
from sfumato.local.collect.survey import PROTOCOLS, Survey
from sfumato.local.collect.survey_page import write_page
from sfumato.local.protocols import hashing
from sfumato.local.protocols.coins import ONE
from sfumato.local.wire.json_lines import encode_json
from sfumato.local.wire.messages import encode
from sfumato.local.wire.reader import Reader
from sfumato.local.wire.recipe import recipe

pytestmark = pytest.mark.browser

ANSWERS = ("none", "one", "two", "three", "many")
NAMES = tuple(PROTOCOLS)
UNLIKELY = 1e-6
"""A correct client fails a test with this probability."""


def survey(protocol, *, epsilon=2, answers=ANSWERS, **more):
    return Survey.of(
        "cups", "How many cups?", list(answers), epsilon=epsilon, protocol=protocol, **more
    )


@pytest.fixture(scope="module")
def client(browser, tmp_path_factory):
    """Call functions of the client on a page that holds it."""
    page = write_page(survey("GRR"), tmp_path_factory.mktemp("page") / "page.html")
    browser.get_log("browser")  # what other tests have left there
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    return browser


@dataclass
class Got:
    nonce: bytes
    reports: object


def read(data, agreed):
    """Read messages that are all good."""
    reader = Reader(agreed.address, agreed.protocol)
    found = reader.read([data])
    assert sum(one.out_of_range + one.malformed for one in found) == 0
    every = reader.reports(np.concatenate([one.rows for one in found]))
    assert len(every) == len(found)
    return [Got(one.nonce, every[i : i + 1]) for i, one in enumerate(found)]


def run(client, script, *arguments):
    return client.execute_script(
        "const S = SfumatoLocal; const list = (r) => Object.fromEntries(Object.entries(r).map("
        "([k, v]) => [k, typeof v === 'number' ? v : Array.from(v)]));" + script,
        *arguments,
    )


MANY = """
const [recipe, codes] = arguments;
return codes.map((code) => S.encodeJSON(recipe, S.perturb(recipe, code), S.newNonce())).join("\\n")
"""


def reports(client, agreed, codes):
    data = run(client, MANY, recipe(agreed), codes).encode()
    found = list(read(data, agreed))
    assert len({message.nonce for message in found}) == len(codes)
    return [message.reports for message in found]


@pytest.mark.parametrize("size", [2, 5, 8, 21, 1000])
@pytest.mark.parametrize("name", NAMES)
def test_a_report_is_the_same_bytes_in_both_languages(client, name, size):
    agreed = survey(name, answers=[f"a{i}" for i in range(size)])
    script = """
    const [recipe, codes] = arguments;
    return codes.map((code) => {
      const report = S.perturb(recipe, code), nonce = S.newNonce();
      return [S.hex(S.encode(recipe, report, nonce)), S.encodeJSON(recipe, report, nonce)];
    })"""
    codes = [0, 1, size - 1] * 5
    for binary, text in run(client, script, recipe(agreed), codes):
        (message,) = read(text.encode(), agreed)
        assert encode(message.reports, agreed.address, nonce=message.nonce).hex() == binary
        assert encode_json(message.reports, agreed.address, nonce=message.nonce).decode() == text
        (again,) = read(bytes.fromhex(binary), agreed)
        assert again.nonce == message.nonce


class Words:
    """The same numbers as the client gets, and the rules of the specification, in Python."""

    def __init__(self, words):
        self.words, self.used = words, 0

    def word(self):
        self.used += 1
        return self.words[self.used - 1]

    def coin(self, limit):
        return self.word() < limit

    def below(self, bound):
        word = self.word()
        while word >= ONE // bound * bound:
            word = self.word()
        return word % bound

    def keep_or_other(self, own, limit, size):
        if self.coin(limit):
            return own
        return [x for x in range(size) if x != own][self.below(size - 1)]


def by_the_book(r, code, source):
    name, d = r["protocol"], r["size"]
    if name == "GRR":
        return {"value": source.keep_or_other(code, r["keep"], d)}
    if name in {"SUE", "OUE"}:
        bits = [source.coin(r["one"] if i == code else r["zero"]) for i in range(d)]
        return {"bits": np.packbits(bits, bitorder="little").tolist()}
    if name == "OLH":
        seed = [source.below(hashing.PRIME), source.below(hashing.PRIME)]
        own = (seed[0] + seed[1] * code) % hashing.PRIME * r["cells"] // hashing.PRIME
        return {"seed": seed, "value": source.keep_or_other(own, r["keep"], r["cells"])}
    if name == "Hadamard":
        block, row, width = code % r["blocks"], code // r["blocks"] + 1, r["width"]
        inside, column = source.coin(r["inside"]), source.below(width)
        half = 0 if inside else source.below(2 * r["blocks"] - 1)
        if half:
            return {"index": (block + (half + 1) // 2) % r["blocks"] * width + column}
        if ((row & column).bit_count() % 2 == 1) == inside:
            column ^= row & -row
        return {"index": block * width + column}
    include = source.coin(r["include"])
    others, drawn = [x for x in range(d) if x != code], set()
    wanted = r["chosen"] - include
    for last in range(d - 1 - wanted, d - 1):
        pick = source.below(last + 1)
        drawn.add(last if pick in drawn else pick)
    bits = [(i == code and include) or (i != code and others.index(i) in drawn) for i in range(d)]
    return {"bits": np.packbits(bits, bitorder="little").tolist()}


@pytest.mark.parametrize("epsilon", [0.5, 4])
@pytest.mark.parametrize("name", NAMES)
def test_every_decision_is_that_of_the_specification(client, name, epsilon):
    """Given the same random words, the report is the same; words at the thresholds included."""
    agreed = survey(name, epsilon=epsilon, answers=[f"a{i}" for i in range(13)])
    r = recipe(agreed)
    limits = [r[k] for k in ("keep", "one", "zero", "inside", "include") if k in r]
    edges = [0, ONE - 1, *limits, *(limit - 1 for limit in limits)]
    rng = np.random.default_rng(5)
    cases = []
    for first in [*edges, *rng.integers(0, ONE, 40).tolist()]:
        rest = rng.choice([*edges, *rng.integers(0, ONE, 30).tolist()], size=80).tolist()
        # Words past the last whole round are drawn again, so that the last ones must be small.
        words = [int(first), *map(int, rest), *([3] * 20)]
        cases.append((int(rng.integers(0, 13)), words))
    script = """
    const [recipe, cases] = arguments;
    return cases.map(([code, words]) => {
      const bytes = new Uint8Array(4 * words.length), view = new DataView(bytes.buffer);
      words.forEach((word, i) => view.setUint32(4 * i, word, true));
      return list(S.perturb(recipe, code, S.bytesSource(bytes)));
    })"""
    for (code, words), got in zip(cases, run(client, script, r, cases), strict=True):
        assert got == by_the_book(r, code, Words(words))


def p_value(counts, expected):
    """Pearson's chi-square; cells expected fewer than five times are joined."""
    total = sum(counts.values())
    pairs = [(counts.get(key, 0), total * float(p)) for key, p in expected.items()]
    rare = [pair for pair in pairs if pair[1] < 5]
    pairs = [pair for pair in pairs if pair[1] >= 5]
    if rare:
        pairs.append((sum(pair[0] for pair in rare), sum(pair[1] for pair in rare)))
    assert sum(pair[0] for pair in pairs) == total, "only reports that can occur"
    statistic = sum((seen - p) ** 2 / p for seen, p in pairs)
    return chi2.sf(statistic, len(pairs) - 1)


def outcome(name, report):
    """A report as `distribution` names it."""
    if name in {"SUE", "OUE"}:
        bits = np.unpackbits(report.payload["bits"], count=len(ANSWERS), bitorder="little")
        return tuple(bits.tolist())
    if name == "SubsetSelection":
        bits = np.unpackbits(report.payload["bits"], count=len(ANSWERS), bitorder="little")
        return tuple(np.flatnonzero(bits).tolist())
    return int(next(iter(report.payload.values()))[0])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "OLH"])
def test_reports_follow_the_exact_distribution(client, name):
    agreed = survey(name, epsilon=1)
    for code in (0, 4):
        counts = Counter(outcome(name, one) for one in reports(client, agreed, [code] * 8_000))
        expected = agreed.protocol.distribution(ANSWERS[code])
        assert sum(expected.values()) == 1
        assert p_value(counts, expected) > UNLIKELY


def test_hash_reports_follow_the_exact_distribution(client):
    agreed, code, n = survey("OLH", epsilon=1), 3, 10_000
    found = reports(client, agreed, [code] * n)
    seeds = np.concatenate([one.payload["seed"] for one in found]).astype(np.int64)
    cells = np.concatenate([one.payload["value"] for one in found]).astype(np.int64)
    g, keep = agreed.protocol.g, agreed.protocol.keep
    own = (seeds[:, 0] + seeds[:, 1] * code) % hashing.PRIME * g // hashing.PRIME
    step = Counter(((cells - own) % g).tolist())
    assert p_value(step, {i: keep if i == 0 else (1 - keep) / (g - 1) for i in range(g)}) > UNLIKELY
    for column in (0, 1):
        tenths = Counter((seeds[:, column] * 10 // hashing.PRIME).tolist())
        assert p_value(tenths, {i: Fraction(1, 10) for i in range(10)}) > UNLIKELY
    together = Counter(
        zip((seeds[:, 0] * 4 // hashing.PRIME).tolist(), cells.tolist(), strict=True)
    )
    even = {key: Fraction(1, 4 * g) for key in product(range(4), range(g))}
    assert p_value(together, even) > UNLIKELY  # neither depends on the other, or on the answer


@pytest.mark.parametrize("name", NAMES)
def test_the_collector_estimates_what_browsers_sent(client, name, tmp_path):
    agreed = survey(name, epsilon=3)
    codes = [0] * 1500 + [1] * 900 + [3] * 600
    data = run(client, MANY, recipe(agreed), codes).encode()
    with Collector(agreed, tmp_path / "s.db") as collector:
        receipt = collector.receive(data)
        assert (receipt.accepted, dict(receipt.dropped)) == (3_000, {})
        found = collector.estimate()
    truth = np.array([0.5, 0.3, 0, 0.2, 0])
    errors = np.abs(found.frequencies - truth) / found.standard_error
    assert errors.max() < norm.isf(UNLIKELY / 10)


def test_math_random_is_never_asked(client):
    script = """
    const old = Math.random; Math.random = () => { throw new Error("asked"); };
    try { return arguments[0].map((r) => list(S.perturb(r, 1))).length; }
    finally { Math.random = old; }"""
    assert run(client, script, [recipe(survey(name)) for name in NAMES]) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_that_keeps_less_than_it_promises_is_refused(client, name):
    agreed = survey(name)
    assert run(client, "return S.epsilon(arguments[0])", recipe(agreed)) == pytest.approx(
        math.log(agreed.protocol.ratio), abs=1e-12
    )
    script = """
    try { S.perturb(arguments[0], arguments[1]); return ""; }
    catch (error) { return error.message; }"""
    liar = {**recipe(agreed), "epsilon": 1.99}
    assert "promises more than it keeps" in run(client, script, liar, 1)
    for code in (-1, len(ANSWERS), 1.5, None, "1"):
        assert "no such answer" in run(client, script, recipe(agreed), code)
    assert "does not know the protocol" in run(client, script, {**liar, "protocol": "toString"}, 1)


REFUSAL = """
try { S.perturb(arguments[0], 1); return ""; } catch (error) { return error.message; }"""


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("GRR", {"size": 2, "keep": 0}),
        ("GRR", {"keep": ONE}),
        ("GRR", {"keep": 2.0**31 + 0.5}),
        ("GRR", {"keep": "2147483648"}),
        ("GRR", {"keep": None}),
        ("GRR", {"size": 1}),
        ("SUE", {"one": ONE, "zero": ONE}),
        ("OUE", {"one": 0, "zero": ONE - 1}),
        ("OLH", {"cells": 1}),
        ("OLH", {"keep": 0}),
        ("OLH", {"prime": 0}),
        ("Hadamard", {"blocks": 1, "width": 4, "inside": ONE // 2}),  # rows up to 5 of 4
        ("Hadamard", {"blocks": 1, "width": 12, "inside": ONE // 2}),
        ("Hadamard", {"blocks": 0}),
        ("Hadamard", {"inside": 0}),
        ("SubsetSelection", {"include": 0}),
        ("SubsetSelection", {"chosen": 0}),
        ("SubsetSelection", {"chosen": 5}),
    ],
)
def test_a_recipe_whose_coins_disguise_nothing_is_refused(client, name, wrong):
    agreed = recipe(survey(name))
    assert run(client, REFUSAL, agreed) == ""
    assert "would not disguise an answer" in run(client, REFUSAL, {**agreed, **wrong})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("GRR", {"size": 2, "keep": 1}),
        ("SUE", {"one": 1, "zero": ONE - 1}),
        ("OUE", {"one": 1, "zero": ONE // 2}),
        ("OLH", {"keep": 1}),
        ("Hadamard", {"inside": 1}),
        ("SubsetSelection", {"include": 1}),
    ],
)
def test_an_answer_told_by_being_left_out_is_a_loss_too(client, name, wrong):
    """The report never names the answer, so it names the answer: the ratio is far below 1."""
    liar = {**recipe(survey(name)), **wrong}
    assert run(client, "return S.epsilon(arguments[0])", liar) > 10
    assert "promises more than it keeps" in run(client, REFUSAL, liar)


REMEMBERED = """
const done = arguments[arguments.length - 1], [recipe, codes, secrets] = arguments;
const S = SfumatoLocal;
Promise.all(codes.map((code, i) => S.remembered(recipe, code, S.fromHex(secrets[i]))))
  .then((all) => done(all.map((r) => S.encodeJSON(recipe, r, S.newNonce())).join("\\n")))
"""


def remembered(client, agreed, codes, secrets):
    text = client.execute_async_script(REMEMBERED, recipe(agreed), codes, secrets)
    found = read(text.encode(), agreed)
    return [message.reports for message in found]


@pytest.mark.parametrize("name", NAMES)
def test_memory_gives_the_same_report_for_the_same_answer(client, name):
    agreed = survey(name, epsilon=1, answers=[f"a{i}" for i in range(40)], remember=True)
    secret = "ab" * 32
    found = remembered(client, agreed, [7] * 50, [secret] * 50)
    assert len({encode(one, agreed.address, nonce=bytes(8)) for one in found}) == 1
    other = survey(name, epsilon=1, answers=[f"a{i}" for i in range(40)], remember=True, version=2)
    elsewhere = [
        *remembered(client, agreed, [7] * 30, [f"{i:064x}" for i in range(30)]),
        *remembered(client, agreed, list(range(8, 38)), [secret] * 30),
        *remembered(client, other, list(range(30)), [secret] * 30),
    ]
    rows = Counter(encode(one, agreed.address, nonce=bytes(8))[32:] for one in elsewhere)
    assert len(rows) > 15, "another device, answer or survey has coins of its own"


@pytest.mark.parametrize("name", NAMES)
def test_memory_is_an_hmac_of_survey_answer_and_counter(client, name):
    """Recompute the words that the secret gives, and take the steps of the specification."""
    agreed = survey(name, epsilon=1, answers=[f"a{i}" for i in range(40)], remember=True)
    secret, r = bytes(range(32)), recipe(agreed)
    codes = [0, 7, 39]
    for code, got in zip(codes, remembered(client, agreed, codes, [secret.hex()] * 3), strict=True):
        text = f"sfumato cups {agreed.terms.hex()} {code} ".encode()
        blocks = (hmac.digest(secret, text + struct.pack("<I", i), "sha256") for i in range(60))
        words = np.frombuffer(b"".join(blocks), "<u4").tolist()
        expected = by_the_book(r, code, Words(words))
        assert {k: np.ravel(v).tolist() for k, v in got.payload.items()} == {
            k: np.ravel(v).tolist() for k, v in expected.items()
        }


def test_remembered_reports_of_many_devices_follow_the_exact_distribution(client):
    for name in ("GRR", "OUE"):
        agreed = survey(name, epsilon=1, remember=True)
        secrets = np.random.default_rng(2).bytes(32 * 4_000)
        texts = [secrets[32 * i : 32 * i + 32].hex() for i in range(4_000)]
        found = remembered(client, agreed, [2] * 4_000, texts)
        counts = Counter(outcome(name, one) for one in found)
        assert p_value(counts, agreed.protocol.distribution("two")) > UNLIKELY


def test_the_report_speaks_for_what_the_collector_counts(client):
    script = """
    const [recipe, n] = arguments;
    return Array.from({ length: n }, (_, i) => {
      const report = S.perturb(recipe, i % recipe.size);
      return [S.encodeJSON(recipe, report, S.newNonce()), S.supported(recipe, report)];
    })"""
    for name in ("GRR", "SUE", "OLH", "SubsetSelection"):
        agreed = survey(name)
        for text, codes in run(client, script, recipe(agreed), 40):
            (message,) = read(text.encode(), agreed)
            counted = agreed.protocol.sums(message.reports)
            assert np.flatnonzero(counted).tolist() == codes


def test_the_recipe_travels_as_json(client):
    agreed = survey("OLH")
    assert json.loads(json.dumps(recipe(agreed))) == recipe(agreed)
    assert run(client, "return SfumatoLocal.epsilon(arguments[0])", recipe(agreed)) <= 2
