"""The page of a release: what it says, what it never says, and that it is one safe file."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hangs import usually

import sfumato as sf
from sfumato.anonymize.run import anonymize
from sfumato.errors import DataError
from sfumato.examples._people import DIAGNOSES
from sfumato.report.release_page import render, write_report

from .conftest import checked

VOID = {"meta", "link", "br"}
ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult"


class Reader(HTMLParser):
    """Checks that tags are closed in order, and collects what the page consists of."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.words, self.headings = [], [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data)
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            self.headings.append((int(self.open[-1][1]), data))

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def pages(by_levels, by_classes, few_nodes, verifications):
    return {
        name: render(release, verification=verifications[release], sweep=[(2, 0.1, 0), (5, 0.2, 9)])
        for name, release in
        (("levels", by_levels), ("classes", by_classes), ("lattice", few_nodes))
    }  # fmt: skip


@pytest.mark.parametrize("which", ["levels", "classes", "lattice"])
def test_a_page_is_whole_and_needs_nothing_from_elsewhere(which, pages):
    page = Reader(pages[which])
    assert not {"script", "img", "iframe", "object", "embed", "form"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in {"href", "src", "action", "data"}:
            assert value.startswith("#") or value == "data:,"
    assert not re.search(r"https?:|url\(|@import", pages[which])
    assert ("lang", "en") in page.attributes
    assert "default-src 'none'" in pages[which]


@pytest.mark.parametrize("which", ["levels", "classes", "lattice"])
def test_a_page_can_be_read_aloud(which, pages):
    page = Reader(pages[which])
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    for chart in re.findall(r'<svg class="chart"[^>]*>', pages[which]):
        assert re.search(r'role="img" aria-label="[^"]{20,}"', chart)
    targets = [v[1:] for n, v in page.attributes if n == "href" and v.startswith("#")]
    ids = [v for n, v in page.attributes if n == "id"]
    assert set(targets) <= set(ids)
    assert len(ids) == len(set(ids))


def test_the_promise_and_the_counts_come_first(pages, by_levels):
    text = Reader(pages["levels"]).text
    order = [
        "5-anonymity and distinct 2-diversity of diagnosis hold",
        "Every released record looks like at least 4 others on age, zip, sex, nationality and job.",
        "Not for publication.",
        "records came in 1,500",
        "Truthful.",
        "Proven optimal.",
        "Columns left out: patient, name",
    ]
    found = [text.find(words) for words in order]
    assert -1 not in found, order[found.index(-1)]
    assert found == sorted(found)
    sections = [heading for level, heading in Reader(pages["levels"]).headings if level == 2]
    assert sections == [
        "Evidence",
        "Class sizes",
        "What each attribute lost, and why",
        "Risk before and after",
        "Trade-off between privacy and loss",
        "The lattice around the chosen node",
        "Details",
    ]
    assert f"suppressed {by_levels.suppressed:,} at most 30 allowed" in text


def test_a_local_release_says_that_it_is_a_heuristic_and_has_no_lattice(pages):
    text = Reader(pages["classes"]).text
    assert "Not proven optimal." in text
    assert "heuristic" in text
    assert "The lattice" not in text
    assert "what had to be brought together" in text


def test_a_small_lattice_is_drawn_whole(pages):
    assert pages["lattice"].count("<circle") == 6 * 6 * 2 + 2  # and two points of the sweep


@pytest.mark.parametrize("which", ["levels", "classes"])
def test_no_sensitive_value_and_no_identifier_is_on_the_page(which, pages, patients):
    words = set(re.findall(r"[\w ]+", Reader(pages[which]).text))
    joined = " ".join(words)
    assert not [value for value in DIAGNOSES if re.search(rf"\b{re.escape(value)}\b", joined)]
    assert not [name for name in set(patients.columns["name"]) if name in joined]
    assert not [number for number in patients.columns["patient"] if number in joined]
    assert "diagnosis" in joined


def test_the_same_release_gives_the_same_page(by_levels, verifications, pages):
    again = render(
        by_levels, verification=verifications[by_levels], sweep=[(2, 0.1, 0), (5, 0.2, 9)]
    )
    assert again == pages["levels"]


def test_a_page_without_a_sweep_has_no_curve(by_levels, verifications):
    page = render(by_levels, verification=verifications[by_levels])
    assert "Trade-off" not in Reader(page).text


# -- when something is wrong -----------------------------------------------------------------


def test_a_broken_promise_is_said_first(by_levels, tmp_path):
    promised = replace(by_levels, promise=sf.KAnonymity(1_000))
    page = render(promised, verification=checked(promised, tmp_path))
    assert re.search(r'id="verdict">1000-anonymity does not hold<', page)
    assert 'class="verdict broken"' in page


def test_a_serious_finding_spoils_a_kept_promise(by_classes, tmp_path):
    roles = {**by_classes.schema.attributes}
    roles["salary"] = roles["salary"].model_copy(update={"role": "identifier", "hierarchy": None})
    named = replace(by_classes, schema=sf.Schema(attributes=roles))
    page = render(named, verification=checked(named, tmp_path))
    assert re.search(r'id="verdict">5-anonymity holds, but the release is not safe<', page)
    assert "Serious: Column" in Reader(page).text


def test_operations_that_hurt_the_truth_are_named(by_levels, verifications):
    mixed = replace(
        by_levels,
        provenance=replace(by_levels.provenance, untruthful=("swapping of zip", "noise on age")),
    )
    text = Reader(render(mixed, verification=verifications[by_levels])).text
    assert "Not truthful." in text
    assert "swapping of zip, noise on age" in text


def test_pseudonyms_are_not_called_untouched(patients, tmp_path):
    release = anonymize(
        patients.columns, sf.KAnonymity(3), schema=patients.schema, pseudonym_key=b"k" * 32
    )
    text = Reader(render(release, verification=checked(release, tmp_path))).text
    assert "Released as they are: diagnosis, salary. Replaced by keyed pseudonyms: " in text
    assert not [number for number in patients.columns["patient"][:50] if number in text]


def test_labels_and_names_cannot_bring_markup_along(tmp_path):
    bad = "<script>alert(1)</script>"
    tree = sf.Hierarchy.from_rows([(bad, f"{bad}&", "*"), ("b'\"", f"{bad}&", "*"), ("", "x", "*")])
    schema = sf.Schema(quasi={"<i>city": tree, "a\"onload='x": tree}, sensitive=["<b>ill"])
    generator = np.random.default_rng(2)
    values = np.array([bad, "b'\"", ""], dtype=object)
    columns = {name: values[generator.integers(0, 3, 60)] for name in schema.attributes}
    for algorithm in ("optimal", "local"):
        release = anonymize(
            columns, sf.KAnonymity(9) & sf.DistinctLDiversity(2, "<b>ill"), schema=schema,
            algorithm=algorithm, suppression=0.2,
        )  # fmt: skip
        release = replace(release, name=bad)
        page = Reader(render(release, verification=checked(release, tmp_path), sweep=[(9, 0.5, 1)]))
        assert not {"script", "i"} & set(page.tags)
        assert not [name for name, _ in page.attributes if name.startswith("on")]
        assert bad in page.text


def test_an_own_definition_has_its_place_on_the_page(patients, tmp_path):
    class NoCrowd(sf.Definition):
        """No class has more than four hundred records."""

        def judge(self, classes):
            return classes.sizes <= 400

    promise = sf.KAnonymity(3) & NoCrowd()
    release = anonymize(patients.columns, promise, schema=patients.schema, algorithm="local")
    text = Reader(render(release, verification=checked(release, tmp_path))).text
    assert "No class has more than four hundred records." in text
    assert "3-anonymity and NoCrowd hold" in text


@pytest.mark.parametrize("algorithm", ["optimal", "local"])
def test_promises_about_a_population_or_key_combinations_have_a_page(algorithm, patients):
    some_people = {name: column[:400] for name, column in patients.columns.items()}
    promise = sf.KMap(4) & sf.KAnonymity(2) & sf.KAnonymity(5, on=("age", "sex"))
    release = anonymize(
        some_people, promise, schema=patients.schema, algorithm=algorithm, suppression=0.05,
        population=patients.columns,
    )  # fmt: skip
    text = Reader(render(release)).text
    assert "4-map and 2-anonymity and 5-anonymity on age, sex hold" in text
    assert "highest risk in the population" in text


# -- writing ---------------------------------------------------------------------------------


def test_the_release_checks_itself_and_the_file_appears_whole(by_classes, tmp_path):
    path = by_classes.report(tmp_path / "page.html")
    assert path == tmp_path / "page.html"
    assert "5-anonymity holds" in path.read_text(encoding="utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_an_unwritable_place_is_told(by_classes, verifications, tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write_report(
            by_classes, tmp_path / "none" / "page.html", verification=verifications[by_classes]
        )


@pytest.mark.parametrize("algorithm", ["mondrian", "cluster", "topdown", "cells"])
def test_every_family_has_a_page(algorithm, patients, tmp_path):
    release = anonymize(
        {name: column[:400] for name, column in patients.columns.items()},
        sf.KAnonymity(4), schema=patients.schema, algorithm=algorithm,
    )  # fmt: skip
    assert (
        "4-anonymity holds" in Reader(render(release, verification=checked(release, tmp_path))).text
    )


@pytest.mark.parametrize("n", [1, 2])
def test_a_table_of_one_person_or_two_has_a_page(n, patients, tmp_path):
    release = anonymize(
        {name: column[:n] for name, column in patients.columns.items()},
        sf.KAnonymity(n), schema=patients.schema,
    )  # fmt: skip
    page = Reader(render(release, verification=checked(release, tmp_path), sweep=[(n, 0.0, 0)]))
    assert f"{n}-anonymity holds" in page.text


@pytest.mark.real_data
@pytest.mark.skipif(not ADULT.exists(), reason=f"the Adult data is not at {ADULT}")
def test_the_page_of_adult_takes_less_than_a_second(tmp_path):
    quasi = (
        "sex", "age", "race", "marital-status", "education", "native-country", "workclass",
        "occupation",
    )  # fmt: skip
    schema = sf.Schema(
        quasi={q: sf.Hierarchy.read(ADULT / f"adult_hierarchy_{q}.csv") for q in quasi},
        sensitive=["salary-class"],
    )
    release = anonymize(ADULT / "adult.csv", sf.KAnonymity(5), schema=schema, suppression=0.05)
    verification = checked(release, tmp_path)
    with usually(0.2):
        page = render(release, verification=verification)
    text = Reader(page).text
    assert "6,480 nodes" in text
    assert "suppressed 1,248" in text
    assert "0.2618" in text
