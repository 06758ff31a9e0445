"""Logistic regression of diffprivlib, at its defaults: AUC on the other part of a split."""

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression
from sklearn.metrics import roc_auc_score

warnings.filterwarnings("ignore")
split = np.load(sys.argv[1])
epsilon, runs = float(sys.argv[2]), int(sys.argv[3])
norm = float(np.sqrt(split["most"]))  # public: cells are in [0, 1], and so many are not 0
found, seconds = [], []
for seed in range(runs):
    start = time.process_time()
    model = LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed)
    model.fit(split["train_x"], split["train_y"])
    seconds.append(time.process_time() - start)
    found.append(roc_auc_score(split["test_y"], model.decision_function(split["test_x"])))
print(json.dumps({"auc": found, "seconds": seconds}))
