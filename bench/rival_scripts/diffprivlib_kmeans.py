"""k-means of diffprivlib: prints its centres."""

import json
import sys

import numpy as np
from diffprivlib.models import KMeans

file, k, epsilon = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
points = np.load(file)
width = points.shape[1]
model = KMeans(k, epsilon=epsilon, bounds=(np.zeros(width), np.ones(width))).fit(points)
print(json.dumps({"centres": model.cluster_centers_.tolist()}))
