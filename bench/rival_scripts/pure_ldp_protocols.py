"""Time pure-ldp, client and server together: protocol and people in, JSON out."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
from pure_ldp.frequency_oracles.hadamard_mechanism import HadamardMechClient, HadamardMechServer
from pure_ldp.frequency_oracles.hadamard_response import (
    HadamardResponseClient,
    HadamardResponseServer,
)
from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

EPSILON, D = 1.0, 1024


def pair(name):
    if name == "GRR":
        return DEClient(EPSILON, D), DEServer(EPSILON, D)
    if name in {"SUE", "OUE"}:
        oue = name == "OUE"
        return UEClient(EPSILON, D, use_oue=oue), UEServer(EPSILON, D, use_oue=oue)
    if name == "OLH":
        return LHClient(EPSILON, D, use_olh=True), LHServer(EPSILON, D, use_olh=True)
    if name == "Hadamard":
        server = HadamardResponseServer(EPSILON, D)
        return HadamardResponseClient(EPSILON, D, server.get_hash_funcs()), server
    return HadamardMechClient(EPSILON, D, 1), HadamardMechServer(EPSILON, D, 1)


def run(name, n):
    client, server = pair(name)
    values = (np.arange(n) % D + 1).tolist()
    start = time.process_time()
    for value in values:
        server.aggregate(client.privatise(value))
    found = np.array([server.estimate(v, suppress_warnings=True) for v in range(1, D + 1)])
    return time.process_time() - start, found


if __name__ == "__main__":
    seconds, found = run(sys.argv[1], int(sys.argv[2]))
    print(json.dumps({"seconds": seconds, "sum": float(found.sum())}))
