"""PyDP draws one value per call: count how many it makes per CPU second."""

import json
import time

from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism

COUNT = 50_000


def rate(mechanism):
    start = time.process_time()
    for _ in range(COUNT):
        mechanism.add_noise(0.0)
    return COUNT / (time.process_time() - start)


print(
    json.dumps(
        {
            "laplace": rate(LaplaceMechanism(1.0, 1.0)),
            "gaussian": rate(GaussianMechanism(1.0, 1e-6, 1.0)),
        }
    )
)
