"""crowds' OLA on Adult: prints CPU seconds, writes the released table."""

import csv
import json
import sys
import time

import pandas as pd
from crowds.kanonymity import ola
from crowds.kanonymity.generalizations import GenRule
from crowds.kanonymity.information_loss import prec_loss

folder, quasi, share, target = sys.argv[1], sys.argv[2].split(","), float(sys.argv[3]), sys.argv[4]
data = pd.read_csv(f"{folder}/adult.csv", sep=";", dtype=str)
rules = {}
for name in quasi:
    with open(f"{folder}/adult_hierarchy_{name}.csv") as file:
        rows = {row[0]: row for row in csv.reader(file, delimiter=";")}
    height = len(next(iter(rows.values())))
    rules[name] = GenRule(
        [lambda value, rows=rows, level=level: rows[value][level] for level in range(1, height - 1)]
    )
start = time.process_time()
result = ola.anonymize(data, rules, k=5, max_sup=share, info_loss=prec_loss)
seconds = time.process_time() - start
released = result[0]  # and the levels it chose
released.to_csv(target, sep=";", index=False, na_rep="*")
print(json.dumps({"seconds": seconds, "rows": len(released)}))
