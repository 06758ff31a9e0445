"""PipelineDP on its local backend: count and sum per group, keys chosen privately."""

import sys

import pipeline_dp
from asked_meter import Meter

file = sys.argv[1]
rows = []
with open(file.replace(".parquet", ".csv")) as lines:
    for line in lines:
        person, group, value = line.split(",")
        rows.append((int(person), int(group), float(value)))

with Meter() as meter:
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        max_partitions_contributed=20,
        max_contributions_per_partition=5,
        min_value=0,
        max_value=100,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    result = engine.aggregate(rows, params, extractors)
    accountant.compute_budgets()
    released = list(result)
meter.tell(groups=len(released))
