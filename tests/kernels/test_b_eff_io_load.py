# SPDX-License-Identifier: Apache-2.0
"""b_eff_io under load: what the kernel measures, that the load is what the operating system saw, and what a log says
about it. Nodes are made up."""

from collections import Counter
from itertools import product

import logs_made
import pytest
from b_eff_io_runs import mpi
from builds import shared_library
from file_systems import memory
from kernel_runs import error, of_kind, on_nodes, run
from mutator import kernel_log

from postprocess.benchmarks.b_eff_io import IMPACTS
from postprocess.benchmarks.b_eff_io.definition import METHODS
from postprocess.benchmarks.b_eff_io.load_records import Load, Loaded
from postprocess.benchmarks.scoring import read_log, score_log
from postprocess.reports.page import comparisons, html, items

__all__ = ["mpi"]  # a fixture
MIB = 2**20
TWO = [("a", 2), ("b", 1)]
KINDS = ["read", "write"]
PATTERNS = {3: MIB, 19: MIB, 20: 32 * 1024}
BRIEF = ["--scheduled-time", 0.2, "--load-file", "2MiB"]


def command(mpi, log, *options, nodes=TWO, env=None):
    return on_nodes(mpi, nodes, "b_eff_io", "--log", log, *options, env=env)


def measured(mpi, folder, *options, **settings):
    log = folder / "log.jsonl"
    words = command(mpi, log, "--load", "read,write", "--directory", folder, *BRIEF, *options, **settings)
    done = run(words, env=mpi.impatient.environment)
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob("b_eff_io-*"))
    return log


# --- what is measured -------------------------------------------------------------------------------------------------


def test_victims_write_rewrite_and_read_in_each_phase_with_every_library(mpi, tmp_path):
    log = read_log(measured(mpi, tmp_path))
    rounds = max(record.repetition for record in log.all(Loaded))
    phases = Counter((record.phase, record.load, record.method, record.pattern) for record in log.all(Loaded))
    states = list(enumerate([None, "read", None, "write", None]))
    assert phases == {
        (*state, method, pattern): rounds for state, method, pattern in product(states, METHODS, PATTERNS)
    }
    for record in log.all(Loaded):
        assert record.bytes == record.calls * PATTERNS[record.pattern] * 2
        assert record.accesses.calls == record.calls * 2
    assert [record.load for record in log.all(Load)] == KINDS * rounds
    [check] = of_kind(log.path, "data_check")
    assert check["read_bytes"] == sum(record.bytes for record in log.all(Loaded) if record.method == "read")
    score = score_log(log.path)
    assert {"under_load"} == {breach.key for breach in score.breaches}
    assert {f"{impact}_{kind}" for impact, kind in product(IMPACTS, KINDS)} < score.metrics.keys()
    assert all("impact" in name or name.startswith("load_bandwidth") for name in score.metrics)


@pytest.fixture(scope="module")
def watched(openmpi, tmp_path_factory):
    """The log of a run, and what the operating system saw of the load: a list of phases, each a list of (what,
    bytes)."""
    folder = tmp_path_factory.mktemp("watched")
    (folder / "notes").mkdir()
    environment = {
        "LD_PRELOAD": shared_library(folder, "slow_files"),
        "SLOW_FILES_SECONDS": 0,
        "SLOW_FILES_NOTES": folder / "notes",
    }
    log = measured(openmpi, folder, env=environment)
    [notes] = (folder / "notes").iterdir()
    seen = []
    for line in notes.read_text().splitlines():
        what, size, _ = line.split()
        if what == "open":
            seen.append([])
        else:
            seen[-1].append((what, int(size)))
    return read_log(log), seen


def test_load_is_what_the_operating_system_saw_after_the_first_round(watched):
    log, seen = watched
    records = log.all(Load)
    assert len(seen) == len(records) >= 2
    for number, (record, calls) in enumerate(zip(records, seen)):
        words = [what for what, _ in calls]
        if record.load == "write":
            assert words == ["write", "sync"] * (len(words) // 2)
        else:  # written once, in chunks, and read from the beginning again and again, each time after an eviction
            assert words[:2] == ["write"] * 2 if number == 0 else "write" not in words
            reads = [word for word in words if word != "write"]
            assert reads[: len(reads) // 3 * 3] == ["sync", "read", "read"] * (len(reads) // 3)
        for name, size in (("write", record.sent_bytes), ("read", record.received_bytes)):
            moved = sum(size for what, size in calls if what == name)
            assert size == (moved - MIB if name == record.load else 0)


def test_file_of_a_load_that_is_read_from_memory_is_said(openmpi, tmp_path):
    """A file system in memory cannot evict anything: all that the victims and the load read comes from there."""
    with memory(tmp_path / "memory", "size=200m") as folder:
        score = score_log(measured(openmpi, tmp_path, "--directory", folder))
    found = {qualification.key: qualification.text for qualification in score.qualifications}
    assert "100.0% were in the page cache" in found["cached_load"]
    assert "not_evicted" in found and "evicted" not in found


def test_one_kind_of_load_and_another_share_of_the_nodes(mpich, tmp_path):
    log = tmp_path / "log.jsonl"
    nodes = [(name, 1) for name in "abc"]
    options = ["--load", "write", "--victims", "34%", "--directory", tmp_path, *BRIEF]
    done = run(command(mpich, log, *options, nodes=nodes), env=mpich.impatient.environment)
    assert done.returncode == 0, done.stderr
    assert "write_impact_by_write" in score_log(log).metrics
    assert read_log(log).plan.load.victims == [0] and {record.senders for record in read_log(log).all(Load)} == {2}


@pytest.mark.parametrize(
    ("nodes", "options", "reason"),
    [
        ([("a", 3)], [], "at least 1 node that is measured and 1 that generates load; this run has 1 and 0 of 1 nodes"),
        (TWO, ["--victims", "80%"], "this run has 2 and 0 of 2 nodes"),
        (TWO, ["--quick"], "omit --quick"),
        (TWO, ["--partitions", "all"], "omit --quick"),
        (TWO, ["--types", "scatter"], "omit --quick"),
        (TWO, ["--load-file", "1500KiB"], "--load-file: not a multiple of 1 MiB"),
        (TWO, ["--space-limit", "3MiB"], "a smaller --load-file"),
    ],
)
def test_load_without_enough_nodes_or_with_other_options_is_refused(openmpi, tmp_path, nodes, options, reason):
    log = tmp_path / "log.jsonl"
    words = command(openmpi, log, "--load", "read,write", "--directory", tmp_path, *options, nodes=nodes)
    done = run(words, env=openmpi.impatient.environment)
    assert done.returncode == 2 and reason in error(done)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", [("--victims", "50%"), ("--load-file", "1MiB")])
def test_options_of_a_load_require_one(openmpi, tmp_path, option):
    words = command(openmpi, tmp_path / "log.jsonl", "--directory", tmp_path, *option)
    done = run(words, env=openmpi.impatient.environment)
    assert done.returncode == 2 and "add --load or omit them" in error(done)


# --- the factors of a log whose times are known -----------------------------------------------------------------------


def known(tmp_path, change):
    """The log of a kernel, in which `change` sets the times of each pass."""
    records = kernel_log("b_eff_io-load")
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


# --- what limits a result ---------------------------------------------------------------------------------------------


def qualified(tmp_path, change):
    records = kernel_log("b_eff_io-load")
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
        r for r in kernel_log("b_eff_io-load") if r["record"] == "loaded" and not r["load"] and r["pattern"] == 19
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


def test_report_has_the_factors_and_runs_under_load_are_not_compared_over_sizes(tmp_path):
    path = logs_made.write(tmp_path / "log.jsonl", kernel_log("b_eff_io-load"))
    score, page = score_log(path), html(items([path, path]))
    low, high = (score.metrics[f"read_impact_by_write_{end}"].value for end in ("low", "high"))
    assert f"{low:.2f} to {high:.2f}" in page and "2 nodes of 5 with 3 processes" in page
    assert "Compared with published systems" not in page
    assert comparisons([score, score]) == []
