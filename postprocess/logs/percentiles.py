# SPDX-License-Identifier: Apache-2.0
"""Percentiles of histograms. They need numpy, which a session of ReFrame should not load, but it loads the records."""

from collections.abc import Sequence

import numpy as np

from coffeecup.postprocess.logs.histograms import Histogram


def percentile(histograms: Sequence[Histogram], share: float) -> float:
    """The time in s that a share of the calls does not exceed (nearest rank), over one or many histograms.

    It is the middle of the bin that contains the call, but neither shorter than the shortest call nor longer than the
    longest: the relative error is at most that of the bins. NaN without calls.
    """
    if not histograms:
        return np.nan
    low, high, calls = (
        np.concatenate([getattr(found, name) for found in histograms])
        for name in ("from_seconds", "to_seconds", "bin_calls")
    )
    order = np.argsort(low, kind="stable")
    counted = np.cumsum(calls[order].astype(float))
    rank = max(1.0, np.ceil(share * counted[-1] * (1 - 1e-12)))
    place = order[np.searchsorted(counted, rank)]
    middle = (low[place] + high[place]) / 2
    return float(
        np.clip(
            middle,
            min(found.shortest_seconds for found in histograms),
            max(found.longest_seconds for found in histograms),
        )
    )
