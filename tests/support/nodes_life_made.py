# SPDX-License-Identifier: Apache-2.0
"""Sessions that examined twenty-four nodes of known speeds, as a check stores them and as history.nodes reads them."""

import numpy as np
import pandas as pd
from sessions_made import night

from coffeecup.postprocess.history.nodes import COLUMNS

NODES, NIGHTS = [f"x{number}" for number in range(24)], 20
SUSPECT = 0.95


def life(speeds, missing=(), noise=0.01, seed=0):
    """What a session stores: each node's ratio to the median node. Those below SUSPECT are confirmed."""
    rng = np.random.default_rng(seed)
    median = float(np.median([speeds.get(name, 1.0) for name in NODES]))
    ratio = {n: round(speeds.get(n, 1.0) / median * (1 + noise * rng.standard_normal()), 4) for n in NODES}
    values = {n: [r, r - 0.01, r + 0.01, 16, 16] for n, r in ratio.items() if n not in missing}
    slow = [name for name, (_, _, high, *_) in values.items() if high < SUSPECT]
    return {"verdict": "confirmed", "suspects": slow, "confirmed": slow, "values": values}


def of(speeds, nights=NIGHTS, noise=0.01):
    """The node_table of nights in which the nodes have `speeds(number)`; 1 if it does not state one."""
    rows = []
    for number in range(nights):
        effects = life(speeds(number), noise=noise, seed=number)
        for name, (ratio, _, high, *_) in effects["values"].items():
            named = name in effects["suspects"]
            rows.append(
                (str(number), night(number), "cluster", "b_eff", name, ratio, high, named, named, "", 1.0 * named)
            )
    return pd.DataFrame(rows, columns=COLUMNS)
