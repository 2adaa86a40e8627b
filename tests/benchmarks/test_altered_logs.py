# SPDX-License-Identifier: Apache-2.0
"""Whatever is altered in a log, it gives a score or one line that says why not, and can be shown. A simulated run of a
benchmark with files is never official."""

import logs_made
import pandas as pd
import pytest
from altered_logs import altered
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from logs_made_b_eff_io import b_eff_io_log
from logs_made_ftio import ftio_log
from logs_made_priomark import priomark_log
from scores import keys

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.references.good_runs import SIMULATED
from coffeecup.postprocess.reports.page import html, items

MADE = {
    "ftio": lambda: ftio_log(ranks=2, i=2, repetitions=2, nodes=1),
    "priomark": lambda: priomark_log(ranks=2, nodes=1, benchmarks=("strided", "async"), repetitions=2),
}
LIMITS = {"ftio": ("io_fraction", 1), "priomark": ("total", float("inf"))}


@pytest.mark.parametrize("benchmark", MADE)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_altered_log_gives_a_score_or_one_line_that_says_why_not(tmp_path, benchmark, data):
    path = logs_made.write(tmp_path / "altered.jsonl", altered(data, MADE[benchmark]()))
    [found] = score_logs([path])
    assert isinstance(found, (Score, LogError))
    if isinstance(found, LogError):
        assert str(found).isprintable()
    else:
        assert all(pd.notna(metric.value) for metric in found.metrics.values())
        name, most = LIMITS[benchmark]
        assert 0 <= found.metrics[name].value <= most
    items([path])


@pytest.mark.parametrize("made", [ftio_log, priomark_log, b_eff_io_log])
def test_a_log_without_a_score_shows_why_and_what_was_measured(tmp_path, made):
    records = made()
    records.remove(logs_made.of_kind(records, "measurement")[1])
    text = html(items([logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))]))
    assert "No score" in text and " belongs" in text
    assert "These measurements do not enter any score" in text and "<svg" in text


@pytest.mark.parametrize("made", [ftio_log, priomark_log, b_eff_io_log])
def test_a_simulated_run_is_never_official(scored, made):
    records = made()
    assert SIMULATED not in keys(scored(records))
    logs_made.simulated(records)
    assert SIMULATED in {breach.key for breach in scored(records).breaches}
