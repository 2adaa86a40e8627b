# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load: the factors of a log whose times are known, what limits them, and what the report shows."""

from itertools import product

import logs_made
import pytest
from mutator import kernel_log

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.reports.page import comparisons, html, items

MIB = 2**20
KINDS = ["read", "write"]

# --- the factors of a log whose times are known -----------------------------------------------------------------------


def known(tmp_path, change):
    """The log of a kernel, in which `change` sets the times of each pass."""
    records = kernel_log("b_eff_io_load")
    for record in records:
        if record["record"] == "loaded":
            change(record)
        if record["record"] == "load":
            record.update(elapsed_seconds=1e3, shortest_seconds=1e3)
    records[-1]["elapsed_seconds"] = 1e6
    return score_log(logs_made.write(tmp_path / "log.jsonl", records))


def timed(record, seconds, call_seconds):
    calls = record["accesses"]["calls"]
    record.update(
        open_seconds=0.25 * seconds,
        elapsed_seconds=0.5 * seconds,
        close_seconds=0.25 * seconds,
        access_seconds=call_seconds * calls,
        access_fastest_seconds=call_seconds * record["calls"],
        sync_seconds=0.0 if record["method"] == "read" else 0.4 * seconds,
        accesses=logs_made.calls_of(call_seconds, calls),
    )


FACTORS = {"read": {"write": 1.0, "rewrite": 1.5, "read": 4.0}, "write": {"write": 3.0, "rewrite": 2.0, "read": 0.5}}


def test_factors_are_those_of_times_with_and_without_load(tmp_path):
    """Time grows from phase to phase as a machine may become slower: of the phases around a load, the mean counts."""

    def change(record):
        factor = FACTORS[record["load"]][record["method"]] if record["load"] else 1.0
        drift = {0: 0.9, 2: 1.1, 4: 0.9}.get(record["phase"], 1.0)
        timed(record, seconds=factor * drift, call_seconds=1e-6 * factor)

    metrics = known(tmp_path, change).metrics
    for kind, method in product(KINDS, METHODS):
        for what in ("impact", "access_impact", "access_impact_99"):
            for end in ("", "_low", "_high"):
                value = metrics[f"{method}_{what}_by_{kind}{end}"].value
                assert value == pytest.approx(FACTORS[kind][method]), (kind, method, what)


def test_interval_encloses_factors_that_differ(tmp_path):
    def change(record):
        seconds = 2.0 * record["repetition"] if record["load"] else 1.0
        timed(record, seconds, call_seconds=1e-6)

    metrics = known(tmp_path, change).metrics
    values = [metrics[f"read_impact_by_read{end}"].value for end in ("_low", "", "_high")]
    assert values == pytest.approx([2, 3, 4])  # of two repetitions


@pytest.mark.parametrize(("more", "sound"), [(0, True), (1, False), (-1, False)])
def test_of_long_passes_the_last_16_mib_of_each_process_are_checked(tmp_path, more, sound):
    """40 calls of 1 MiB in pattern 3, of which a buffer of 4099 pages of 4 KiB holds 16."""
    records = kernel_log("b_eff_io_load")
    first = next(place for place, record in enumerate(records) if record["record"] == "loaded_trial")
    records = [r for r in records if (r["record"], r.get("pattern")) != ("loaded_trial", 3)]
    seconds = records[1]["pass_seconds"]
    for place, calls in enumerate((1, 2, 4, 8, 16, 32)):
        lasted = seconds * (0.8 if calls == 32 else 0.1)
        records.insert(
            first + place,
            {"record": "loaded_trial", "sequence": 0, "pattern": 3, "calls": calls, "elapsed_seconds": lasted},
        )
    read = checked = 0
    for record in (record for record in records if record["record"] == "loaded"):
        if record["pattern"] == 3:
            record.update(calls=40, bytes=3 * 40 * MIB, accesses={"calls": 3 * 40})
            timed(record, 1.0, 1e-6)
        if record["method"] == "read":
            read += record["bytes"]
            checked += min(record["bytes"], 3 * 16 * MIB)
    for record in records:
        if record["record"] == "load":
            record.update(elapsed_seconds=1e3, shortest_seconds=1e3)
    [check] = [record for record in records if record["record"] == "data_check"]
    check.update(read_bytes=read, checked_bytes=checked + more)
    records[-1]["elapsed_seconds"] = 1e6
    path = logs_made.write(tmp_path / "log.jsonl", logs_made.numbered(records))
    if sound:
        assert "partly_checked" in {qualification.key for qualification in score_log(path).qualifications}
    else:
        with pytest.raises(LogError, match="checked_bytes"):
            score_log(path)


# --- what limits a result ---------------------------------------------------------------------------------------------


def qualified(tmp_path, change):
    records = kernel_log("b_eff_io_load")
    for number, record in enumerate(record for record in records if record["record"] == "load"):
        change(number, record)
    score = score_log(logs_made.write(tmp_path / "log.jsonl", records))
    return {qualification.key for qualification in score.qualifications}


def moved(record, bandwidth):
    """So long that the load moved so many byte/s on each of its three nodes."""
    seconds = (record["sent_bytes"] + record["received_bytes"]) / 3 / bandwidth
    record.update(elapsed_seconds=seconds, shortest_seconds=seconds)


@pytest.fixture(scope="module")
def victims_bandwidth():
    """Of a victim's node without load in separate files with chunks of 1 MiB, by access method, in byte/s."""
    passes = [
        r for r in kernel_log("b_eff_io_load") if r["record"] == "loaded" and not r["load"] and r["pattern"] == 19
    ]

    def of(method):
        seconds = lambda r: r["open_seconds"] + r["elapsed_seconds"] + r["close_seconds"]  # noqa: E731
        values = sorted(r["bytes"] / seconds(r) for r in passes if r["method"] == method)
        return (values[len(values) // 2] + values[(len(values) - 1) // 2]) / 2 / 2

    return {method: of(method) for method in METHODS}


@pytest.mark.parametrize(("share", "weak"), [(0.251, False), (0.249, True)])
@pytest.mark.parametrize("kind", KINDS)
def test_load_below_a_quarter_of_a_victims_bandwidth_is_weak(tmp_path, victims_bandwidth, kind, share, weak):
    def change(_, record):
        moved(record, victims_bandwidth[record["load"]] * (share if record["load"] == kind else 1))

    assert ("weak_load" in qualified(tmp_path, change)) is weak


@pytest.mark.parametrize(("share", "unsteady"), [(0.34, False), (0.32, True)])
def test_phase_with_half_of_the_median_load_is_unsteady(tmp_path, victims_bandwidth, share, unsteady):
    """Of two phases, the median is the mean: a third of the other phase is half of it."""

    def change(number, record):
        moved(record, victims_bandwidth[record["load"]] * (share if number == 0 else 1))

    assert ("unsteady_load" in qualified(tmp_path, change)) is unsteady


def test_report_has_the_factors_and_a_figure_of_several_runs(tmp_path):
    path = logs_made.write(tmp_path / "log.jsonl", kernel_log("b_eff_io_load"))
    score, page = score_log(path), html(items([path, path]))
    low, high = (score.metrics[f"read_impact_by_write_{end}"].value for end in ("low", "high"))
    assert f"{low:.2f} to {high:.2f}" in page and "2 nodes of 5 with 3 processes" in page
    assert "Compared with published systems" not in page
    [(_, figure)] = comparisons([score, score])
    assert [*figure.data["processes"]] == [6] * 4 and {*figure.data["load"]} == {*KINDS}
    assert {*figure.data["factor"]} == {score.metrics[f"read_impact_by_{kind}"].value for kind in KINDS}
