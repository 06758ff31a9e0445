"""Time multi-freq-ldpy, client and server together: protocol and people in, JSON out."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Aggregator_MI, SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

EPSILON, D = 1.0, 1024


def run(name, values):
    if name == "GRR":
        return GRR_Aggregator_MI([GRR_Client(v, D, EPSILON) for v in values], D, EPSILON)
    if name in {"SUE", "OUE"}:
        best = name == "OUE"
        reports = [UE_Client(v, D, EPSILON, optimal=best) for v in values]
        return UE_Aggregator_MI(reports, EPSILON, optimal=best)
    if name == "OLH":
        return LH_Aggregator_MI([LH_Client(v, D, EPSILON) for v in values], D, EPSILON)
    return SS_Aggregator_MI([SS_Client(v, D, EPSILON) for v in values], D, EPSILON)


if __name__ == "__main__":
    name, n = sys.argv[1], int(sys.argv[2])
    run(name, list(range(4)))  # its compiled parts
    values = (np.arange(n) % D).tolist()
    start = time.process_time()
    found = run(name, values)
    print(json.dumps({"seconds": time.process_time() - start, "sum": float(np.sum(found))}))
