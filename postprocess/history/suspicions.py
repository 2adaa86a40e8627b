# SPDX-License-Identifier: Apache-2.0
"""Last sessions that are worse than the level, but too few to be a new one."""

import numpy as np
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.history.change_points import MAD_TO_SIGMA, Finding, RuleOf, own_rule, ruled, same_unit
from coffeecup.postprocess.history.levels import SESSIONS_BEFORE
from coffeecup.postprocess.history.table import SERIES

WINDOW = 50  # sessions with which the last one is compared
SUSPICIOUS_SPREADS = 3.0


def suspicions(values: pd.DataFrame, found: list[Finding], rules: RuleOf = own_rule) -> pd.DataFrame:
    """The last sessions of series that are worse than the current level by more than the smallest regression and the
    spread, but are too few to be a new level: the rows of session_values, with `level`, `relative` and the `limit` of
    the value. A rerun confirms or refutes them. Series that are worse already are left out."""
    worse = {tuple(finding.series.values()) for finding in found if finding.suspect and not finding.recovered}
    rows = []
    for key, every in values.groupby(SERIES, sort=False, observed=True):
        series = same_unit(every)
        rule, measured = rules(ruled(key, series)), series["value"].to_numpy()
        before, last = measured[:-1][-WINDOW:], float(measured[-1])
        if len(before) < SESSIONS_BEFORE or rule.better not in (Better.HIGHER, Better.LOWER) or key in worse:
            continue
        usual, spread = np.median(before), MAD_TO_SIGMA * np.median(np.abs(before - np.median(before)))
        limit = usual - rule.sign * max(rule.smallest_regression * abs(usual), SUSPICIOUS_SPREADS * spread)
        if usual and (limit - last) * rule.sign > 0:
            rows.append(series.iloc[-1].to_dict() | {"level": usual, "relative": last / usual - 1, "limit": limit})
    return pd.DataFrame(rows, columns=[*values.columns, "level", "relative", "limit"]).astype(dict(values.dtypes))
