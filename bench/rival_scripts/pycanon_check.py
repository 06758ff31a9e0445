"""pycanon measures a released file: prints what it found and its CPU seconds."""

import json
import sys
import time

import pandas as pd
from pycanon import anonymity

path, quasi, sensitive = sys.argv[1], sys.argv[2].split(","), sys.argv[3]
data = pd.read_csv(path, sep=";", dtype=str)
start = time.process_time()
found = {
    "k": int(anonymity.k_anonymity(data, quasi)),
    "distinct l": int(anonymity.l_diversity(data, quasi, [sensitive])),
    "entropy l": int(anonymity.entropy_l_diversity(data, quasi, [sensitive])),
    "t": float(anonymity.t_closeness(data, quasi, [sensitive])),
    "beta": float(anonymity.basic_beta_likeness(data, quasi, [sensitive])),
    "delta": float(anonymity.delta_disclosure(data, quasi, [sensitive])),
}
print(json.dumps({"seconds": time.process_time() - start, "found": found}))
