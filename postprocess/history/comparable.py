# SPDX-License-Identifier: Apache-2.0
"""Which values of a series can be compared: those of one unit, as if all had run on the same hosts."""

from collections import Counter

import numpy as np
import pandas as pd

from coffeecup.postprocess.history.looks import SESSIONS_AFTER
from coffeecup.postprocess.history.table import SERIES


def same_unit(series: pd.DataFrame) -> pd.DataFrame:
    """The sessions since the unit of the series last changed: others cannot be compared with them."""
    other = np.flatnonzero(series["unit"].to_numpy() != series["unit"].iloc[-1])
    return series.iloc[other[-1] + 1 :] if len(other) else series


def same_units(values: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of session_values since the unit of their series last changed."""
    series = values.groupby(SERIES, sort=False, observed=True)
    if (series["unit"].transform("nunique") <= 1).all():
        return values
    return pd.concat([same_unit(rows) for _, rows in series])


def changed_units(values: pd.DataFrame) -> list[dict]:
    """The series whose unit changed: the columns of SERIES, `was`, `unit`, and `since` when."""
    rows, units = [], values.groupby(SERIES, observed=True)["unit"]
    for _, series in values[units.transform("nunique") > 1].groupby(SERIES, sort=False, observed=True):
        judged = same_unit(series)
        last, was = judged.iloc[0], series["unit"].iloc[-len(judged) - 1]
        rows.append(dict(last[SERIES]) | {"was": was, "unit": last["unit"], "since": last["session_time"]})
    return rows


def without_hosts(values: np.ndarray, hosts: np.ndarray) -> np.ndarray:
    """Values (sessions,) as if all had run on the most frequent set of hosts: two kinds of nodes are no change.

    A set counts if it was left and came back, with SESSIONS_AFTER sessions at least. Its effect is the median
    difference between each of its sessions and the nearest one of the most frequent set, which a change of level does
    not affect.
    """
    runs = Counter(hosts[np.flatnonzero(np.append(True, hosts[1:] != hosts[:-1]))])
    sessions = Counter(hosts)
    returning = [name for name, count in sessions.most_common() if runs[name] > 1 and count >= SESSIONS_AFTER]
    if len(returning) < 2:
        return values
    usual = np.flatnonzero(hosts == returning[0])
    adjusted = values.copy()
    for name in returning[1:]:
        places = np.flatnonzero(hosts == name)
        nearest = usual[np.abs(places[:, None] - usual).argmin(axis=1)]
        adjusted[places] -= np.median(values[places] - values[nearest])
    return adjusted
