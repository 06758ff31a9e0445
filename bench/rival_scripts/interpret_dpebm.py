"""DP-EBM of interpret on one split: AUC and CPU seconds of every run, as JSON."""

import json
import sys
import time

import numpy as np
import pandas as pd
from interpret.privacy import DPExplainableBoostingClassifier

place, epsilon, runs = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
held = np.load(place, allow_pickle=False)
facts = json.loads(str(held["facts"]))


def frame(part):
    columns = {}
    for name in facts["names"]:
        cells = held[f"{part}:{name}"]
        columns[name] = cells.astype(str) if name in facts["domain"] else cells.astype(float)
    return pd.DataFrame(columns)


def auc(truth, score):
    ranks = pd.Series(score).rank().to_numpy()
    ones = truth.sum()
    return (ranks[truth == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(truth) - ones))


train, test = frame("train"), frame("test")
kinds = ["nominal" if n in facts["domain"] else "continuous" for n in facts["names"]]
bounds = {j: facts["bounds"][n] for j, n in enumerate(facts["names"]) if n in facts["bounds"]}
found, seconds = [], []
for seed in range(runs):
    start = time.process_time()
    model = DPExplainableBoostingClassifier(
        feature_names=facts["names"], feature_types=kinds, epsilon=epsilon, delta=1e-5,
        privacy_bounds=bounds, n_jobs=1, random_state=seed,
    )  # fmt: skip
    model.fit(train, held["train_y"])
    seconds.append(time.process_time() - start)
    found.append(auc(held["test_y"], model.predict_proba(test)[:, 1]))
print(json.dumps({"auc": found, "seconds": seconds}))
