"""diffprivlib draws one value per call: count how many it makes per CPU second."""

import json
import time
import warnings

warnings.simplefilter("ignore")

from diffprivlib.mechanisms import GaussianAnalytic, Laplace  # noqa: E402

COUNT = 20_000


def rate(mechanism):
    start = time.process_time()
    for _ in range(COUNT):
        mechanism.randomise(0.0)
    return COUNT / (time.process_time() - start)


print(
    json.dumps(
        {
            "laplace": rate(Laplace(epsilon=1.0, sensitivity=1.0)),
            "gaussian": rate(GaussianAnalytic(epsilon=1.0, delta=1e-6, sensitivity=1.0)),
        }
    )
)
