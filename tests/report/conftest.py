"""Releases to report on, made once: by levels, and class by class."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.anonymize.run import anonymize
from sfumato.audit.verification.verify import verify


def checked(release, folder):
    """Verify a release from a file of its rows."""
    path = folder / "release.csv"
    release.rows.write_csv(path)
    return verify(path, release.schema, release.promise)


@pytest.fixture(scope="session")
def patients():
    return sf.examples.patients(1_500, seed=3)


@pytest.fixture(scope="session")
def by_levels(patients):
    promise = sf.KAnonymity(5) & sf.DistinctLDiversity(2, "diagnosis")
    return anonymize(patients.columns, promise, schema=patients.schema, suppression=0.02, seed=1)


@pytest.fixture(scope="session")
def by_classes(patients):
    return anonymize(
        patients.columns, sf.KAnonymity(5), schema=patients.schema, algorithm="local", seed=1
    )


@pytest.fixture(scope="session")
def few_nodes(patients):
    """A release over three attributes, whose lattice of 72 nodes is drawn whole."""
    attributes = patients.schema.attributes
    schema = sf.Schema(
        identifiers=["patient", "name"],
        quasi={name: attributes[name].hierarchy for name in ("age", "zip", "sex")},
        sensitive=["diagnosis"],
    )
    return anonymize(patients.columns, sf.KAnonymity(7), schema=schema, suppression=0.01, seed=1)


@pytest.fixture(scope="session")
def verifications(by_levels, by_classes, few_nodes, tmp_path_factory):
    """The check of each release, by the release."""
    return {
        release: checked(release, tmp_path_factory.mktemp("release"))
        for release in (by_levels, by_classes, few_nodes)
    }
