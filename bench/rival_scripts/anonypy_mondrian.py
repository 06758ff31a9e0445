"""anonypy's Mondrian on Adult: prints CPU seconds and the partition of each row as JSON."""

import json
import sys
import time

import pandas as pd
from anonypy import mondrian

path, k, quasi = sys.argv[1], int(sys.argv[2]), sys.argv[3].split(",")
frame = pd.read_csv(path, sep=";")
for name in quasi:
    if name != "age":
        frame[name] = frame[name].astype("category")
before = time.process_time()
parts = mondrian.Mondrian(frame, quasi, "salary-class").partition(k)
seconds = time.process_time() - before
part = [0] * len(frame)
for number, rows in enumerate(parts):
    for row in rows:
        part[row] = number
print(json.dumps({"seconds": seconds, "part": part}))
