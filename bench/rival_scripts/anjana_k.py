"""anjana's k-anonymity (Datafly) on Adult: prints CPU seconds, writes the released table.

anjana looks every cell up by scanning the level below, so it gets the distinct values of each
level and not, as its tutorial has it, one entry per record: that would be quadratic.
"""

import csv
import json
import sys
import time

import numpy as np
import pandas as pd
from anjana.anonymity import k_anonymity

folder, quasi, share, target = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3]), sys.argv[4]
data = pd.read_csv(f"{folder}/adult.csv", sep=";", dtype=object, keep_default_na=False)
hierarchies = {}
for name in quasi:
    present = set(data[name])
    with open(f"{folder}/adult_hierarchy_{name}.csv") as file:
        rows = [row for row in csv.reader(file, delimiter=";") if row[0] in present]
    levels = [np.array(column, dtype=object) for column in zip(*rows, strict=True)]
    hierarchies[name] = dict(enumerate(levels))
start = time.process_time()
released = k_anonymity(data, [], quasi, 5, share * 100, hierarchies)
seconds = time.process_time() - start
released.to_csv(target, sep=";", index=False)
print(json.dumps({"seconds": seconds, "rows": len(released), "columns": list(released.columns)}))
