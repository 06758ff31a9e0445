"""OpenDP's Context on Polars: people bounded to 20 groups and 5 rows in each, keys by threshold."""

import sys

import opendp.prelude as dp
import polars as pl
from asked_meter import Meter

dp.enable_features("contrib")
file = sys.argv[1]


def asked(keep):
    context = dp.Context.compositor(
        data=pl.scan_parquet(file),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=20_000_000, max_groups=100_000)],
    )
    value = pl.col("value").fill_nan(0.0).fill_null(0.0).cast(pl.Int64).fill_null(0)
    return (
        context.query()
        .truncate_per_group(5, by=["grp"], keep=keep)
        .truncate_num_groups(20, by=["grp"], keep=keep)
        .group_by("grp")
        .agg(dp.len(signed=True), value.dp.sum((0, 100)))
    )


failures = []
for keep in ("sample", "first"):  # the first way that does not fail
    try:
        with Meter() as meter:
            query = asked(keep)
            frame = query.release().collect()
    except Exception as error:
        failures.append(f"{keep}: {' '.join(str(error).split())[:60]}")
        continue
    scales = query.summarize(alpha=0.05)
    count = scales.filter(pl.col("aggregate") == "Frame Length")
    scale, form = count["scale"][0], count["distribution"][0]
    deviation = scale * 2**0.5 if "Laplace" in form else scale
    meter.tell(groups=len(frame), sigma=deviation, note=f"keeps {keep}; " + "; ".join(failures))
    break
else:
    sys.exit("; ".join(failures))
