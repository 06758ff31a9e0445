"""The cabs of San Francisco, where they are at hand."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sfumato as sf

FILE = (
    Path(__file__).resolve().parents[4] / "shared/data/trajectories/cabs_dataset_20080608.parquet"
)
BOUNDS = (-122.52, -122.36, 37.70, 37.82)


@pytest.fixture
def san_francisco():
    if not FILE.exists():
        pytest.skip(f"{FILE} is absent")

    def read(*, hours=(0, 24), unit):
        low, high = (f"2008/06/08 {hour:02}" for hour in hours)
        frame = duckdb.sql(
            f"SELECT * FROM '{FILE}' WHERE timestamp >= '{low}' AND timestamp < '{high}'"
        ).to_arrow_table()
        return sf.read(frame, shape="trajectories", bounds=BOUNDS, unit=unit)

    return read
