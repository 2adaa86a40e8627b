# SPDX-License-Identifier: Apache-2.0
"""What else changed from session to session: recorded versions, hosts and facts of the runs of a series. Numbers are
compared in history.numbers."""

from collections import Counter

import numpy as np
import orjson
import pandas as pd

from coffeecup.postprocess.history.numbers import numeric
from coffeecup.postprocess.history.table import EVENTS, WITHOUT_METRIC


def surroundings(series: pd.DataFrame) -> pd.DataFrame:
    """The recorded circumstances of each session, a column each: versions, hosts, facts that are no numbers; empty text
    if not recorded."""
    facts = pd.DataFrame([orjson.loads(text) for text in series["facts"]], index=series.index)
    named = facts.drop(columns=numeric(facts))
    return series[[*EVENTS, "hosts"]].rename(columns=EVENTS).join(named).fillna("").astype(str)


def most_frequent(values: pd.Series) -> str:
    """The most frequent of some texts; of equally frequent ones, the first."""
    return Counter(values).most_common(1)[0][0]


def causes(series: pd.DataFrame, index: int) -> list[str]:
    """Circumstances that differ between most sessions before and most after the change at `index`, and that changed
    within one session of it; none of what began with the first session."""
    changed = []
    if index == 0:
        return changed
    for name, values in surroundings(series).items():
        was, now = map(most_frequent, (values.iloc[:index], values.iloc[index:]))
        near = values.iloc[max(index - 2, 0) : index + 2]
        if was != now and near.nunique() > 1:
            changed.append(f"{name}: {was or 'nothing'} -> {now or 'nothing'}")
    return changed


def circumstances(series: pd.DataFrame) -> pd.DataFrame:
    """Changes of the circumstances from session to session: session_time, what, was, now."""
    recorded = surroundings(series)
    rows = [
        (series["session_time"].iloc[place], name, values.iloc[place - 1], values.iloc[place])
        for name, values in recorded.items()
        for place in np.flatnonzero(values.to_numpy()[1:] != values.to_numpy()[:-1]) + 1
    ]
    return pd.DataFrame(rows, columns=["session_time", "what", "was", "now"]).sort_values(
        "session_time", kind="stable", ignore_index=True
    )


def circumstances_of_all(values: pd.DataFrame) -> pd.DataFrame:
    """The circumstances of all series in a table of session_values, by time, each change once."""
    alike = values.groupby(WITHOUT_METRIC, sort=False, observed=True)
    happened = [circumstances(series.drop_duplicates("session")) for _, series in alike] or [circumstances(values)]
    return pd.concat(happened).drop_duplicates().sort_values("session_time")
