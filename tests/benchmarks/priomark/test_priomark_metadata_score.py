# SPDX-License-Identifier: Apache-2.0
"""The sub-benchmark `metadata`: its metrics by arithmetic of its own, and that no other value knows of it."""

import re

import logs_made
import pytest
from logs_made import KIB
from logs_made_priomark import metadata_case, priomark_log

from coffeecup.postprocess.benchmarks.priomark.metadata import has_sound_times
from coffeecup.postprocess.benchmarks.priomark.records import OperationTimes
from coffeecup.postprocess.benchmarks.scoring import score_logs
from coffeecup.postprocess.reports.page import html, items

RATES = {"create": 100.0, "stat": 6400.0, "read": 200.0, "rename": 3200.0, "readdir": 400.0, "remove": 1600.0}
CASES = [metadata_case("own-directory", 10, 4 * KIB), metadata_case("shared-directory", 20, KIB)]


def log_of(folder, name="log.jsonl", **changed):
    """Four processes; the second repetition is three times as fast as the first one."""
    rate = {"metadata": CASES, "rate": lambda operation, repetition: RATES[operation] * (2 * repetition - 1)}
    return logs_made.write(folder / name, priomark_log(repetitions=2, **(rate | changed)))


def test_rates_are_means_and_their_geometric_mean_by_arithmetic_of_its_own(tmp_path):
    """100 * (1 + 3) / 2 = 200 and so on; the product of 1, 64, 2, 32, 4 and 16 is 2 to the power of 18, of which the
    sixth root is 8."""
    [score] = score_logs([log_of(tmp_path)])
    value = {name: metric.value for name, metric in score.metrics.items()}
    assert {name: value[f"metadata_{name}"] for name in RATES} == pytest.approx({n: 2 * r for n, r in RATES.items()})
    assert value["metadata"] == pytest.approx(8 * 200)
    assert score.metrics["metadata_stat"].unit == "operations/s"
    # Four processes at once: the slower repetition takes 4 / 100 s for a file; 4 processes that each list 80 entries
    # take 320 / 400 s.
    assert value["metadata_create_latency_p99"] == pytest.approx(40)
    assert value["metadata_readdir_latency_p99"] == pytest.approx(800)


def test_nothing_else_of_the_score_changes(tmp_path):
    both = score_logs([log_of(tmp_path), log_of(tmp_path, "without.jsonl", metadata=())])
    alike = [{n: m for n, m in score.metrics.items() if not n.startswith("metadata")} for score in both]
    assert alike[0] == alike[1] and alike[0].keys() == both[1].metrics.keys()
    texts = [[found.text for found in score.qualifications if "metadata" not in found.key] for score in both]
    assert texts[0] == texts[1]


def test_report_shows_each_operation_of_each_case(tmp_path):
    text = html(items([log_of(tmp_path)]))
    section = text.split("Operations on small files")[1].split("</table>")[0]
    rows = re.findall(r'<tr><th scope="row">(\w+)</th><td>([\w-]+)</td><td class="n">(\d+)</td>', section)
    assert rows == [(name, p, n) for p, n in (("own-directory", "10"), ("shared-directory", "20")) for name in RATES]
    assert "Operations on small files" not in html(items([log_of(tmp_path, "without.jsonl", metadata=())]))


@pytest.mark.parametrize("repetitions, interval", [(2, "–"), (3, "200 to 200")])
def test_interval_of_a_rate_needs_three_repetitions(tmp_path, repetitions, interval):
    records = priomark_log(repetitions=repetitions, metadata=CASES, rate=lambda *_: 200.0)
    text = html(items([logs_made.write(tmp_path / "log.jsonl", records)]))
    assert f'<td class="n">200</td><td class="n">{interval}</td>' in text


@pytest.mark.parametrize("name", ["fastest_seconds", "longest_seconds", "sum_seconds"])
@pytest.mark.parametrize(("seconds", "sound"), [(1 + 1.9e-6, True), (1 + 2.1e-6, False)])
def test_no_process_and_no_call_takes_longer_than_the_operation(name, seconds, sound):
    """Of four processes, which may take 4 s together."""
    times = {"fastest_seconds": 0.5, "shortest_seconds": 0.1, "longest_seconds": 0.5, "sum_seconds": 2.0}
    times[name] = seconds * (4 if name == "sum_seconds" else 1)
    bins = {"calls": 8, "from_seconds": [0.1], "to_seconds": [0.2], "bin_calls": [8]}
    found = OperationTimes(operation="stat", count=8, elapsed_seconds=1.0, **times, **bins)
    assert has_sound_times(found, 4) is sound
