"""anjana's k-anonymity (Datafly) on Adult: prints CPU seconds, writes the released table."""

import csv
import json
import sys
import time

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity

folder, quasi, share, target = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3]), sys.argv[4]
data = pd.read_csv(f"{folder}/adult.csv", sep=";", dtype=str)
hierarchies = {}
for name in quasi:
    with open(f"{folder}/adult_hierarchy_{name}.csv") as file:
        rows = {row[0]: row for row in csv.reader(file, delimiter=";")}
    height = len(next(iter(rows.values())))
    hierarchies[name] = {
        level: np.array([rows[value][level] for value in data[name]]) for level in range(height)
    }
start = time.process_time()
released = k_anonymity(data, [], quasi, 5, share * 100, hierarchies)
seconds = time.process_time() - start
released.to_csv(target, sep=";", index=False)
print(json.dumps({"seconds": seconds, "rows": len(released), "columns": list(released.columns)}))
