"""What people get, byte for byte: command lines with all they print and write, for every shape.

Every journey is a few command lines in a folder of its own, on small made-up data, with the noise
that the test's name determines. What a line prints, its exit code, and every file it writes are
held against `golden_outputs.txt`, which `pytest --renew` writes anew. Times, addresses of the
machine, versions and secrets are replaced, long decimals are rounded to six digits, and of pages
the words are kept with a digest of their markup. The Python interface, wire forms and the service,
where no command shows them, follow at the end.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import json
import random
import re
import secrets
import shlex
from pathlib import Path

import golden
import numpy as np
import pytest

import sfumato as sf
from sfumato.cli import run
from sfumato.cli.display import terminal

FILE = Path(__file__).with_name("golden_outputs.txt")

TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?"
VOLATILE = [
    (TIME, "<time>"),
    (r"(\"seconds\": \"?)[\d.e-]+", r"\1<s>"),
    (r"\b\d+(?:\.\d+)? (?:ms|s|seconds?|milliseconds?)\b", "<seconds>"),
    (r"\b[0-9a-f]{64}\b", "<hash>"),
    (r"\d+\.\d\d( +│ (?:least| {5}) │)$", r"<s>\1"),  # of a comparison of algorithms
    (r"(?<=signed with )[0-9a-f]{16}", "<key>"),
    (r"(\"(?:keyid|x|kid|sig)\": ?\")[^\"]*", r"\1<key>"),
    (r"(?i)\b(python|numpy|duckdb|numba|sqlglot|sfumato) \d+(?:\.\d+)+", r"\1 <version>"),
]


def opened(text):
    """Show the statements that certificates sign, also those inside them."""
    return re.sub(
        r'(?<="payload": ")[\w+/=-]+',
        lambda m: opened(golden.as_json(json.loads(base64.b64decode(m[0])))),
        text,
    )


def steady(text, folder):
    """Replace what differs from run to run and from machine to machine."""
    text = opened(text)
    text = text.replace(str(folder.resolve()), "<folder>").replace(str(folder), "<folder>")
    for pattern, instead in VOLATILE:
        text = re.sub(pattern, instead, text, flags=re.MULTILINE)
    return re.sub(r"-?\d+\.\d{7,}(?:e-?\d+)?", lambda m: f"{float(m[0]):.6g}", text)


def words_of(page):
    """Give the visible words of a page, a line each, and a digest of its markup."""
    markup = re.sub(r"\d+\.\d+", lambda m: f"{float(m[0]):.0f}", page)
    digest = hashlib.sha256(markup.encode()).hexdigest()[:16]
    bare = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL)
    lines = (html.unescape(line).strip() for line in re.sub(r"<[^>]*>", "\n", bare).split("\n"))
    return "\n".join([f"markup {digest}", *(line for line in lines if line)])


def content(path, folder):
    """Give what a file says, in lines."""
    if path.suffix in {".sqlite", ".db", ".pem"}:
        return "(is there)"
    data = path.read_bytes()
    try:
        text = steady(data.decode(), folder)
    except UnicodeDecodeError:
        return f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()[:16]}"
    if path.suffix in {".html", ".svg"}:
        return words_of(text)
    lines, most = text.split("\n"), 60 if path.suffix in {".json", ".yaml"} else 15
    if len(lines) <= most:
        return text
    whole = hashlib.sha256(text.encode()).hexdigest()[:16]
    return "\n".join([*lines[:most], f"… {len(lines)} lines, {whole}"])


def states(folder):
    return {
        path: path.stat().st_mtime_ns
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith((".lock", "-shm", "-wal", "-journal", ".pyc"))
    }


def console(lines, folder, capsys):
    """Run command lines; give each with its code, what it printed, and the files it wrote."""
    told = []
    for line in (" ".join(line.split()) for line in lines.strip().split("\n")):
        before = states(folder)
        capsys.readouterr()
        code = run(shlex.split(line))
        printed = capsys.readouterr()
        told.append(f"$ sfumato {line}\nexit {code}")
        told.append(steady(printed.out, folder).rstrip("\n"))
        told.append("\n".join(f"! {x}" for x in steady(printed.err, folder).splitlines()))
        for path, state in states(folder).items():
            if before.get(path) != state:
                name = path.relative_to(folder).as_posix()
                told.append(f"--- {name}\n{content(path, folder)}")
    return "\n".join(part for part in told if part)


# -- what the folders hold --------------------------------------------------------------------


def clinic(folder):
    sf.examples.patients(60, seed=1).write(folder)
    (folder / "next").mkdir()
    sf.examples.patients(40, seed=2).write(folder / "next")


def wards(folder):
    sf.examples.visits(80, seed=1).write(folder)


def shop(folder):
    sf.examples.shop(60, seed=2).write(folder)
    (folder / "items.txt").write_text("bread\nmilk\ngin\nbeer\nwine\n")


def films(folder):
    ages, names = range(20, 44), ("alien", "brazil", "casino", "dune")
    rows = [
        [age, "fm"[age % 2], "|".join(n for i, n in enumerate(names) if (age + i) % 3)]
        for age in ages
    ]
    table(folder / "people.csv", [["age", "sex", "films"], *rows])
    (folder / "people.yaml").write_text(
        "attributes:\n  age: {role: quasi, hierarchy: {intervals: {width: 4}}}\n"
        "  sex: {role: quasi}\n  films: {role: quasi, type: set}\n"
    )


def forest(folder):
    records = [
        {"town": "xy"[n % 2], "visits": [{"ward": str(w % 3)} for w in range(n % 4)]}
        for n in range(16)
    ]
    (folder / "trees.jsonl").write_text("\n".join(json.dumps(one) for one in records) + "\n")
    (folder / "trees.yaml").write_text(
        "attributes:\n  town: {role: quasi}\n  visits.ward: {role: quasi}\n"
    )


def circle(folder):
    edges = [(n, (n + step) % 14) for n in range(14) for step in (1, 3) if (n * step) % 4 != 2]
    (folder / "friends.edges").write_text("".join(f"p{a:02} p{b:02}\n" for a, b in edges))


def streets(folder):
    rows = [
        [f"c{p:02}", f"{(p * 7 + t * 9) % 100}", f"{(p * 13 + t * 5) % 100}", 60 * t]
        for p in range(14)
        for t in range(5)
    ]
    table(folder / "cabs.csv", [["person", "x", "y", "time"], *rows])


def square(folder):
    rows = [[f"u{n}", f"{(n * 37) % 101 / 100:.2f}", f"{(n * 61) % 103 / 100:.2f}", n]
            for n in range(40)]  # fmt: skip
    table(folder / "users.csv", [["person", "x", "y", "time"], *rows])


def mail(folder):
    rng = np.random.default_rng(0)
    rows = [[int(a), int(b), "bad" if a + 3 * (b > 4) + c > 8 else "good"]
            for a, b, c in rng.integers(0, 9, (240, 3))]  # fmt: skip
    table(folder / "mail.csv", [["links", "caps", "label"], *rows])


def cups(folder):
    answers = ["none"] * 50 + ["1"] * 30 + ["no 2"] * 20
    table(folder / "people.csv", [["id", "answer"], *enumerate(answers)])


def functions(folder):
    (folder / "mine.py").write_text(
        "def constant(data):\n    return 999\n\n\ndef count(data):\n    return len(data) + 10\n"
    )


def table(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


BASKETS = "baskets.dat --shape sets --hierarchy goods.csv"
PATIENTS = "patients.csv -s patients.yaml"
VISITS = "visits.csv -s visits.yaml --groups 3 --rows-per-group 2 --budget 9 --budget-delta 1e-4"

JOURNEYS = {
    "a schema is suggested": (clinic, """
        example more --rows 12 --visits
        inspect patients.csv -o suggested.yaml
        inspect patients.csv -o again.yaml --json
        hierarchy patients.csv age --rule intervals --width 5 -o age.csv
        hierarchy patients.csv zip --rule mask --length 5
        hierarchy patients.csv age --rule cuts --points 18,40,65/40
    """),
    "a table is anonymised, shown, verified and attacked": (clinic, f"""
        anonymize {PATIENTS} -k 3 -l 2:diagnosis --suppression 0.05 -o out -L book.sqlite \
          --query-error --sweep k=2,3
        verify out/release.csv -s patients.yaml
        verify out/release.csv -s patients.yaml -k 50 --json
        attack out/ -s patients.yaml --original patients.csv --public next/patients.csv
        loss patients.csv out/release.csv -s patients.yaml
        apply out/policy.yaml next/patients.csv -s patients.yaml --suppression 0.1 -o february \
          --no-report
        overlap out/release.csv february/release.csv -s patients.yaml -k 3
        ledger show -L book.sqlite
    """),
    "algorithms of tables": (clinic, "\n".join(
        f"anonymize {PATIENTS} -k 4 --algorithm {name} -o {name} --no-report"
        for name in ("optimal", "local", "mondrian", "cluster", "topdown", "cells")
    )),
    "options of algorithms": (clinic, f"""
        anonymize {PATIENTS} -k 4 --algorithm mondrian --option strict=false -o a --no-report -q
        anonymize {PATIENTS} -k 4 --algorithm topdown --option scope=full-domain -o b --no-report -q
        anonymize {PATIENTS} -k 4 --algorithm optimal --objective NUE --levels age=1..3 -o c \
          --no-report -q
        anonymize {PATIENTS} -k age,zip:3 -k sex,job:5 -o d --no-report -q
        anonymize {PATIENTS} -k 4 -o e --dry-run
    """),
    "definitions of tables": (clinic, f"""
        anonymize {PATIENTS} -k 3 -l 2:diagnosis -l 2:salary:entropy -o a --no-report --json
        anonymize {PATIENTS} -k 3 -l 2:diagnosis:recursive=3 -o b --no-report --json
        anonymize {PATIENTS} -k 3 -t 0.5:diagnosis -t 0.4:salary:ordered --suppression 0.1 -o c \
          --no-report --json
        anonymize {PATIENTS} -k 3 --beta 6:diagnosis -o d --no-report --json
        anonymize {PATIENTS} --k-map 5 --population next/patients.csv -o e --no-report --json
        anonymize {PATIENTS} --presence 0,1 --population patients.csv -o f --no-report --json
        anonymize {PATIENTS} -k 61 -o g --no-report
    """),
    "operations that hurt truthfulness": (clinic, f"""
        anonymize {PATIENTS} -k 3 --noise salary:1000 --swap diagnosis:0.05 --seed 3 -o a \
          --no-report
        anonymize {PATIENTS} -k 3 --microaggregate salary:5 --synthetic 0.05 --seed 3 -o b \
          --no-report
    """),
    "algorithms are compared": (clinic, f"""
        compare {PATIENTS} --ks 2,5 --algorithms optimal,mondrian --suppressions 0,0.05 -o c.svg
        compare {PATIENTS} --ks 2,61 --algorithms optimal --json
    """),
    "people with several rows": (wards, """
        inspect visits.csv -o suggested.yaml
        anonymize visits.csv -s visits.yaml -k 3 -o out
        verify out/release.csv -s visits.yaml
    """),
    "sets": (shop, """
        anonymize baskets.dat --shape sets --hierarchy goods.csv --km 4:2 -o out -L book.sqlite
        verify out
        verify out --shape sets --km 300:2 --json
        attack out --shape sets --original baskets.dat --known 2 --absent 1
    """),
    "algorithms of sets": (shop, "\n".join(
        f"anonymize {BASKETS} --km 3:2 --algorithm {name} -o {name} --no-report"
        for name in ("global", "merging", "suppression", "disassociation")
    ) + """
        anonymize baskets.dat --shape sets --hierarchy goods.csv -k 3 --meaning bag -o bags \
          --no-report
        anonymize baskets.dat --shape sets --hierarchy goods.csv --rho 0.5:gin --algorithm \
          suppression -o rho --no-report
    """),
    "hybrid records": (films, """
        anonymize people.csv --shape hybrid -s people.yaml -k 3 --km 3:2:films -o out
        verify out
        attack out --shape hybrid -s people.yaml --original people.csv
    """),
    "trees": (forest, """
        inspect trees.jsonl --shape trees -o suggested.yaml
        anonymize trees.jsonl --shape trees -s trees.yaml -k 2 -o out
        verify out --shape trees -s trees.yaml
        anonymize trees.jsonl --shape trees -s trees.yaml --kmn 2:1:1 -o lighter --no-report
        attack out --shape trees -s trees.yaml --original trees.jsonl
    """),
    "graphs": (circle, """
        anonymize friends.edges --shape graph --k-degree 4 -o out
        verify out --shape graph
        verify out --shape graph --k-degree 13
        attack out --shape graph --original friends.edges
        anonymize friends.edges --shape graph --direction keep --k-degree 3 -o fans --no-report
        anonymize friends.edges --shape graph --node-k 2:degree -o nodes --no-report
    """),
    "trajectories": (streets, """
        anonymize cabs.csv --shape trajectories --bounds=0,100,0,100 -k 2 -o out
        verify out --shape trajectories
        anonymize cabs.csv --shape trajectories --bounds=0,100,0,100 --km 2:1 --algorithm split \
          -o pieces --no-report
        attack out --shape trajectories --original cabs.csv
    """),
    "places": (square, """
        cloak users.csv -k 5 -o boxes.csv --report boxes.html
        cloak users.csv -k 5 --method casper -o casper.csv
        cloak users.csv --stream -k 3 --wait 60 --memory --bounds=0,1,0,1 -o stream.csv
    """),
    "questions under a budget": (clinic, """
        ask patients.csv -s patients.yaml --unit row "SELECT COUNT(*) FROM patients" -e 0.5 \
          --budget 2 --purpose research
        ask patients.csv "select count( * ) from PATIENTS" -e 0.5 --purpose research
        ask patients.csv "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY sex" \
          -e 0.5 --keys sex=female,male --bounds age=18,100 --purpose research --format json
        ask patients.csv "SELECT COUNT(*) FROM patients WHERE age > 30" --accuracy 20 --estimate \
          --purpose research
        ask patients.csv "SELECT MEDIAN(salary) AS median FROM patients" -e 0.5 --bounds \
          salary=0,150000 --purpose research --format csv
        ask patients.csv "SELECT name FROM patients" -e 0.1 --purpose research
        ask patients.csv "SELECT SUM(salary) FROM patients" -e 1.5 --bounds salary=0,150000 \
          --purpose research
        histogram patients.csv age -b 0,18,40,65,100 -e 0.2 --purpose research --picture age.svg
        ledger show --data patients.csv
        ledger show 3 --data patients.csv
        ledger amend patients --data patients.csv --limit-analyst 0.5 --reason "Ann asks for two"
        ledger verify --data patients.csv
        ledger export entries.csv --data patients.csv
    """),
    "people with several rows are asked about": (wards, f"""
        ask {VISITS} "SELECT COUNT(DISTINCT patient) AS people FROM visits" -e 0.5
        ask visits.csv "SELECT department, COUNT(*) AS n FROM visits GROUP BY department HAVING \
          COUNT(*) > 5 ORDER BY n DESC LIMIT 3" -e 1
        histogram visits.csv --map latitude,longitude --box 46.3,10.6,46.9,12.1 --grid 4x3 -e 0.4 \
          --format csv
        histogram visits.csv minutes --ordered 16 --quantiles 0.5 -e 0.5
    """),
    "published once": (wards, f"""
        kmeans {VISITS} minutes cost -k 2 --bounds cost=0,500 -e 1 -o clusters
        topk visits.csv department -k 2 -e 1 --delta 1e-6 -o top
        synthesize visits.csv -e 2 --delta 1e-6 --bounds cost=0,500 -o copy
        verify copy
        train visits.csv department -e 2 --delta 1e-6 --bounds cost=0,500 -o model
        ledger show --data visits.csv
        certificate 4 -L visits.csv.ledger.sqlite --key signing.pem --public public.json -o c.json
    """),
    "synthetic sets and graphs": (lambda folder: (shop(folder), circle(folder)), """
        synthesize baskets.dat --shape sets --listed items.txt -e 1 --delta 1e-6 -o sets
        synthesize friends.edges --shape graph --nodes named -e 2 -o graph
    """),
    "a survey": (cups, """
        local new-survey cups -q "How many cups?" -a none -a 1 -a "no 2" -e 2
        local perturb people.csv --column answer -s cups/survey.yaml -o reports.bin
        local perturb people.csv --column answer -s cups/survey.yaml -o reports.json --json
        local collect reports.bin -s cups/survey.yaml --store s.db
        local estimate -s cups/survey.yaml --store s.db --plot estimates.html
    """),
    "functions and mechanisms": (functions, """
        audit mine:constant --epsilon 0
        audit mine:count --epsilon 1 --json
        explain laplace --epsilon 1 --sensitivity 1
        explain exponential --epsilon 0.5 --size 10 --json
        explain oue --epsilon 1 --size 8
    """),
    "models under attack": (mail, "attack model mail.csv label -e 1"),
    "a person's rights": (clinic, f"""
        anonymize {PATIENTS} -k 3 -o out --no-report -L patients.csv.ledger.sqlite
        subject show patients.csv P000018 --column name
        subject correct patients.csv P000018 --column name --set diagnosis=asthma
        subject forget patients.csv P000018 --column name
    """),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "COLUMNS": "400",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "LOGNAME": "ada",
    }.items():
        monkeypatch.setenv(name, value)
    for console in (terminal.out, terminal.err):
        monkeypatch.setattr(console, "width", 400)
    monkeypatch.setattr(secrets, "token_bytes", random.Random(0).randbytes)  # salts of ledgers
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    return tmp_path


@pytest.mark.parametrize("name", JOURNEYS)
def test_command_lines_print_and_write_what_they_did(name, folder, capsys):
    make, lines = JOURNEYS[name]
    make(folder)
    golden.check(FILE, {name: console(lines, folder, capsys)})


# -- from Python ------------------------------------------------------------------------------


def said(value):
    """Show a value by what it says; numbers with as many digits as every machine computes alike."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        shown = [said(one) for one in value.ravel()[:16].tolist()]
        return f"{value.dtype.kind}{value.shape} {' '.join(shown)}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {said(one)}' for key, one in value.items())}}}"
    if isinstance(value, list | tuple):
        more = f", … {len(value)}" if len(value) > 16 else ""
        return f"[{', '.join(said(one) for one in value[:16])}{more}]"
    if isinstance(value, bytes):
        return value.hex()
    return re.sub(r"-?\d+\.\d{5,}(?:e-?\d+)?", lambda m: f"{float(m[0]):.4g}", str(value))


def column(n=120):
    return [(i * 37) % 101 / 101 for i in range(n)]


def labelled():
    x = np.array([[a, b] for a, b in zip(column(), column()[::-1], strict=True)])
    return {"x": x, "y": x @ [0.5, 0.25], "label": np.where(x[:, 0] > 0.5, "high", "low")}


def walks():
    return [[(t * 60, (p * 7 + t * 9) % 100, (p * 13 + t * 5) % 100) for t in range(5)]
            for p in range(30)]  # fmt: skip


def opened_session():
    visits = sf.examples.visits(80, seed=1)
    words = {name: getattr(sf.ask, name) for name in sf.ask.__all__}
    session = sf.Session(
        visits.columns, schema=visits.schema, name="visits", budget=sf.ApproxDP(100, 1e-6),
        unit=sf.Unit("patient", groups=4, rows_per_group=2),
    )  # fmt: skip
    return {**words, "session": session, "visits": session.table("visits")}


def local_names():
    from sfumato.local.wire.recipe import recipe

    words = ["tea", "milk", "coffee", "water"]
    answers = [words[i % 7 % 4] for i in range(200)]
    survey = sf.local.Survey.of("cups", "Which?", words, epsilon=2, protocol="OUE")
    protocols = {name: getattr(sf.local, name) for name in sf.local.__all__}
    return {**protocols, "local": sf.local, "recipe": recipe, "words": words,
            "answers": answers, "numbers": np.array(column(200)), "survey": survey}  # fmt: skip


def estimated(protocol, values):
    """Give the first reports of a protocol, and what is estimated of all."""
    reports = protocol.perturb(values)
    first = {name: np.asarray(array)[:6] for name, array in reports.payload.items()}
    return [protocol.report_bits, first, str(protocol.estimate(protocol.aggregate(reports)))]


DISCRETE = ("GRR", "OLH", "OUE", "SUE", "Hadamard", "SubsetSelection")
EXPRESSIONS = {
    "mechanisms": (lambda: {"values": column()}, """
        sf.dp.laplace(10, sensitivity=1, epsilon=1)
        sf.dp.geometric(10, sensitivity=1, epsilon=1)
        sf.dp.gaussian(10, sensitivity=1, epsilon=0.5, delta=1e-6)
        sf.dp.discrete_gaussian(10, sensitivity=1, epsilon=0.5, delta=1e-6)
        sf.dp.exponential({"a": 3, "b": 9, "c": 1}, sensitivity=1, epsilon=1)
        sf.dp.permute_and_flip({"a": 3, "b": 9, "c": 1}, sensitivity=1, epsilon=1)
        sf.dp.report_noisy_max({"a": 3, "b": 9, "c": 1}, sensitivity=1, epsilon=1)
        sf.dp.randomized_response([True, False, True, True], epsilon=1)
        sf.dp.above_threshold([1, 2, 30, 4], threshold=9, sensitivity=1, epsilon=1)
        sf.dp.median(values, bounds=(0, 1), epsilon=1)
        sf.dp.quantile(values, 0.9, bounds=(0, 1), epsilon=1)
        sf.dp.mean(values, bounds=(0, 1), epsilon=1)
        sf.dp.sum(values, bounds=(0, 1), epsilon=1)
        sf.dp.var(values, bounds=(0, 1), epsilon=1)
        sf.dp.count(values, epsilon=1)
        sf.dp.Laplace(epsilon=1, sensitivity=1).error
        sf.dp.explain("geometric", epsilon=1)
        sf.dp.laplace(10, sensitivity=1, epsilon=0)
    """),
    "accounting": (dict, """
        sf.dp.account(sf.dp.Step("gaussian", 2.0, times=5), delta=1e-6)
        sf.dp.calibrate(sf.dp.Count(), guarantee=sf.PureDP(1))
        sf.dp.amplify(sf.PureDP(1), rate=0.1)
        sf.dp.compose_advanced([sf.PureDP(0.1)] * 20, delta=1e-6)
        sf.dp.plan(sf.PureDP(1), [sf.dp.Count(), sf.dp.Sum(bounds=(0, 1))])
        sf.ApproxDP(1, 1e-6).to_json()
        sf.ZCDP(0.5)
        sf.GDP(1)
        sf.ZCDP(0.5).to_json()
    """),
    "what is published once": (labelled, """
        sf.dp.histogram(x[:, 0], bins=4, bounds=(0, 1), epsilon=1)
        sf.dp.ordered_histogram(x[:, 0], bounds=(0, 1), cells=16, epsilon=1).quantile(0.5)
        sf.dp.spatial_histogram(x, bounds=[(0, 1), (0, 1)], side=16, epsilon=1)
        sf.dp.top_k([["a", "b"], ["a"], ["c", "a"]] * 20, 2, items=["a", "b", "c"], epsilon=1)
        sf.dp.set_union([["a", "b"], ["a"], ["c", "a"]] * 20, epsilon=1, delta=1e-3)
        sf.dp.KMeans(2, epsilon=2, bounds=(0, 1)).fit(x).cluster_centers_
        sf.dp.LinearRegression(epsilon=2, bounds=(0, 1), target=(0, 1)).fit(x, y).coef_
        sf.dp.LogisticRegression(epsilon=2, bounds=(0, 1), classes=["high", "low"]).fit(x, \
          label).coef_
        sf.dp.NaiveBayes(epsilon=2, bounds=(0, 1), classes=["high", "low"]).fit(x, \
          label).predict(x[:9])
        sf.dp.PCA(1, epsilon=2, bounds=(0, 1)).fit(x).components_
    """),
    "synthetic copies": (lambda: {**labelled(), "walks": walks()}, """
        sf.dp.synthesize({"label": label.tolist(), "n": [int(9 * a) for a, _ in x]}, \
          columns={"label": ["high", "low"], "n": list(range(10))}, epsilon=2, delta=1e-6, \
          size=20).data
        sf.dp.predict_synthesis({"label": label.tolist()}, rows=120, columns={"label": ["high", \
          "low"]}, epsilon=1, delta=1e-6)
        sf.dp.synthesize_sets([["a", "b"], ["a"], ["c", "a"]] * 20, items=["a", "b", "c"], \
          epsilon=2, delta=1e-6).data
        sf.dp.synthesize_graph([(i, (i + 1) % 12) for i in range(12)], vertices=12, epsilon=2).data
        sf.dp.synthesize_trajectories(walks, box=(0, 100, 0, 100), epsilon=2, delta=1e-6).data
    """),
    "questions in Python": (opened_session, """
        visits.count().ask(epsilon=1)
        session.sql("SELECT COUNT(*) FROM visits", epsilon=1)
        visits.group_by("department").aggregate(n=count(), cost=sum_("cost", bounds=(0, \
          500))).ask(epsilon=1)
        visits.where(col("minutes") > 30).aggregate(a=avg("minutes"), \
          m=median("minutes")).ask(epsilon=2)
        visits.per_person(n=count()).aggregate(mean=avg(col("n").clamp(0, 30))).ask(epsilon=1)
        session.estimate("SELECT department, COUNT(*) AS n FROM visits GROUP BY department", \
          epsilon=0.1)
        session.histogram("minutes", bins=4, epsilon=1)
        session.together(["SELECT COUNT(*) FROM visits", "SELECT SUM(minutes) FROM visits"], \
          epsilon=1)
        session.sql("SELECT cost FROM visits", epsilon=1)
        session.sql("SELECT COUNT(*) FROM visits", epsilon=1000)
        session.remaining
        session
    """),
    "local protocols": (local_names, "\n".join(
        f"estimated({name}(words, epsilon=1), answers)" for name in DISCRETE
    ) + """
        estimated(Warner((False, True), epsilon=1), [i % 3 == 0 for i in range(200)])
        estimated(Duchi((0, 1), epsilon=1), numbers)
        estimated(Piecewise((0, 1), epsilon=1), numbers)
        estimated(SquareWave((0, 1), epsilon=1, bins=8), numbers)
        local.best(words, epsilon=1, n=1000)
        local.explain("grr", epsilon=1)
        local.shuffle_epsilon(1, n=10000, delta=1e-6)
    """),
    "surveys on the wire": (local_names, "\n".join(
        f"recipe(Survey.of('cups', 'Which?', words, epsilon=2, protocol='{name}'))"
        for name in DISCRETE
    ) + """
        survey
        local.wire.encode(survey.protocol.perturb(answers[:3]), survey.address, nonce=bytes(8))
        local.wire.encode_json(survey.protocol.perturb(answers[:2]), survey.address, nonce=bytes(8))
    """),
    "places in Python": (lambda: {"points": labelled()["x"]}, """
        sf.places.cloak(points, k=5)
        sf.places.verify_cloaks(points, sf.places.cloak(points, k=5).boxes, k=5)
        sf.places.PlanarLaplace(epsilon=0.01, step=1).release([[100.0, 200.0], [5.0, 9.0]])
    """),
    "checks and attacks": (lambda: {"people": sf.examples.patients(60, seed=1)}, """
        sf.audit.check(lambda data: 999, claim=sf.PureDP(0))
        sf.audit.reidentification_risk(np.array([1, 1, 2, 5, 8]))
        sf.audit.special_uniques(people.columns, schema=people.schema)
        sf.inspect(sf.read(people.columns))
        sf.loss(people.columns, people.columns, schema=people.schema)
        sf.attack.precheck(sf.anonymize(sf.read(people.columns, schema=people.schema), \
          sf.KAnonymity(3)))
        sf.anonymize(sf.read(people.columns, schema=people.schema), sf.KAnonymity(3))
        sf.anonymize(sf.read(people.columns, schema=people.schema), sf.KAnonymity(3)).verify()
    """),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_python_gives_what_it_gave(name, folder):
    make, lines = EXPRESSIONS[name]
    names, told = {"np": np, "sf": sf, "estimated": estimated, **make()}, []
    for line in (" ".join(line.split()) for line in lines.strip().split("\n")):
        try:
            found = said(eval(line, names))
        except sf.SfumatoError as error:
            found = f"{type(error).__name__}: {error}"
        told.append(f">>> {line}\n{steady(found, folder)}")
    golden.check(FILE, {name: "\n".join(told)})


def test_nothing_is_left_in_the_file_that_is_gone():
    assert not JOURNEYS.keys() & EXPRESSIONS.keys()
    now = {*JOURNEYS, *EXPRESSIONS}
    if golden.renewing:
        golden.keep(FILE, now)
    assert set(golden.read(FILE)) == now
