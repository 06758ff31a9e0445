"""MST or AIM of dpmm on a table of whole numbers: writes synthetic rows, prints CPU seconds."""

import json
import resource
import sys
import time

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.pipelines.base import GenerativePipeline

file, sizes, model, epsilon, made, seed = sys.argv[1:7]
rows = np.load(file)
names = [f"c{c}" for c in range(rows.shape[1])]
domain = dict(zip(names, json.loads(sizes), strict=True))
chosen = {"mst": MSTGM, "aim": AIMGM}[model]
start = time.process_time()
pipeline = GenerativePipeline(chosen(epsilon=float(epsilon), delta=1e-9, n_jobs=1))
pipeline.fit(pd.DataFrame(rows, columns=names), domain=domain, random_state=int(seed))
found = pipeline.generate(n_records=len(rows), random_state=int(seed))
own = time.process_time() - start
children = resource.getrusage(resource.RUSAGE_CHILDREN)
np.save(made, found[names].to_numpy().astype(np.int64))
print(json.dumps({"seconds": own + children.ru_utime + children.ru_stime}))
