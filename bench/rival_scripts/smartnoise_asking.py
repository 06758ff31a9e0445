"""SmartNoise SQL on pandas: `max_ids` keeps 20 rows per person, so it answers a smaller question."""

import sys

import pandas as pd
from asked_meter import Meter
from snsql import Privacy, from_df

file = sys.argv[1]
names = ["person", "grp", "value"]
frame = pd.read_csv(file.replace(".parquet", ".csv"), names=names)
meta = {
    "": {
        "public": {
            "visits": {
                "max_ids": 20,
                "row_privacy": False,
                "sample_max_ids": True,
                "censor_dims": True,
                "clamp_counts": False,
                "person": {"type": "int", "private_id": True},
                "grp": {"type": "int"},
                "value": {"type": "float", "lower": 0.0, "upper": 100.0},
            }
        }
    }
}
reader = from_df(frame, metadata=meta, privacy=Privacy(epsilon=0.5, delta=1e-6))
query = "SELECT grp, COUNT(*) AS n, SUM(value) AS s FROM public.visits GROUP BY grp"
with Meter() as meter:
    rows = reader.execute(query)
meter.tell(groups=len(rows) - 1, note="keeps 20 rows per person, not 20 groups")
