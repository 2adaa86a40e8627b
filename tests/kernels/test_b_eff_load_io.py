# SPDX-License-Identifier: Apache-2.0
"""The load io of b_eff_load: what it moved is what the operating system saw, and however a run ends, it leaves no
files."""

from statistics import median

import logs_made
import networks_made
import pytest
from builds import faulty
from file_systems import memory
from kernel_runs import error, good, of_kind, on_nodes, run
from mutator import kernel_log
from networks_made import crossbar
from scores import keys
from simulations import SITE

from coffeecup.postprocess.benchmarks.b_eff_load.records import Load
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.reports.page import html, items

MIB = 2**20
FOUR = [(name, 1) for name in "abcd"]
BRIEF = ["--memory-per-process", "1MiB", "--repetitions", "1", "--random-patterns", "1", "--longest-loop", "2"]
PATTERNS = 6 + 1
SLOW_SECONDS = 0.2


def command(mpi, log, *options, env=None):
    return on_nodes(mpi, FOUR, "b_eff_load", f"--log {log}", *options, env=env)


def measured(mpi, log, *options, env=None):
    return run(command(mpi, log, "--kinds io", *options, env=env), env=mpi.impatient.environment)


def leftovers(folder):
    return list(folder.glob("b_eff_load-*"))


# --- what it moves ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slow(openmpi, tmp_path_factory):
    """The log of a run whose writes are slow, and what the operating system saw: for each process a list of phases,
    each a list of (what, bytes, time)."""
    folder = tmp_path_factory.mktemp("slow")
    (folder / "notes").mkdir()
    slowed = faulty(openmpi, "slow_files", SLOW_FILES_SECONDS=SLOW_SECONDS, SLOW_FILES_NOTES=folder / "notes")
    good(measured(openmpi, folder / "log.jsonl", *BRIEF, f"--directory {folder}", env=slowed))
    assert not leftovers(folder)
    seen = []
    for notes in (folder / "notes").iterdir():
        seen.append([])
        for line in notes.read_text().splitlines():
            what, size, at = line.split()
            if what == "open":
                seen[-1].append([])
            else:
                seen[-1][-1].append((what, int(size), float(at)))
    return read_log(folder / "log.jsonl"), seen


def test_bytes_are_those_that_were_written_synced_and_read_after_the_first_round(slow):
    log, seen = slow
    phases = log.all(Load)
    assert len(seen) == 2 and {len(process) for process in seen} == {len(phases)} == {PATTERNS}
    for number, record in enumerate(phases):
        calls = [call for process in seen for call in process[number]]
        words = [what for process in seen for what, *_ in process[number]]
        assert words == ["write", "sync", "read"] * (len(words) // 3)
        for name, size in (("write", record.sent_bytes), ("read", record.received_bytes)):
            assert size == sum(moved for what, moved, _ in calls if what == name) - 2 * MIB
        assert record.senders == 2 and record.silent_senders == 0


def test_bandwidth_is_that_of_whole_rounds_with_their_slow_writes(slow):
    """The time is from the end of the first round to that of the last one, on the process where it is longest; and no
    process writes and reads 1 MiB in less time than a write takes."""
    log, seen = slow
    too_long = []
    for number, record in enumerate(log.all(Load)):
        ends = [[at for what, _, at in process[number] if what == "read"] for process in seen]
        too_long.append(record.elapsed_seconds - max(times[-1] - times[0] for times in ends))
        assert record.elapsed_seconds >= max(len(times) - 1 for times in ends) * SLOW_SECONDS
    assert abs(median(too_long)) < SLOW_SECONDS / 4
    bandwidth = score_log(log.path).metrics["load_bandwidth_io"].value
    moved = sum(record.sent_bytes + record.received_bytes for record in log.all(Load))
    assert bandwidth == pytest.approx(moved / sum(record.elapsed_seconds for record in log.all(Load)) / 1e6)
    assert bandwidth < 2 * 2 * MIB / SLOW_SECONDS / 1e6


def test_report_says_what_the_load_wrote_and_read(slow):
    log, _ = slow
    page = html(items([log.path]))
    assert "The load io writes, syncs and reads files of 1 MiB." in page
    assert "Messages of the load" not in page and "b_eff_impact_io" in score_log(log.path).metrics


def test_io_beside_another_load(mpich, tmp_path):
    log = tmp_path / "log.jsonl"
    words = command(mpich, log, f"--kinds incast,io --directory {tmp_path}", *BRIEF, "--time-budget 86400")
    good(run(words, env=mpich.impatient.environment))
    assert {"b_eff_impact_incast", "b_eff_impact_io"} <= score_log(log).metrics.keys()
    assert [record["load"] for record in of_kind(log, "load")] == ["incast", "io"] * PATTERNS
    assert not leftovers(tmp_path)


def test_what_was_read_from_the_page_cache_is_said(scored):
    log = kernel_log("b_eff_load-io")
    before = keys(scored(log))
    logs_made.first(log, record="load", load="io")["cached_bytes"] = 4096
    assert set(keys(scored(log))) - set(before) == {"cached_load"}


# --- how it ends ------------------------------------------------------------------------------------------------------


def test_io_in_a_simulation_is_refused(simulated_kernel, tmp_path):
    platform, _ = networks_made.write(tmp_path, crossbar(4), {})
    kernel = simulated_kernel.with_name("b_eff_load")
    words = [SITE / "run", "-np", "4", "--platform", platform, kernel, "--log", tmp_path / "log.jsonl"]
    done = run([*words, "--kinds", "io", "--directory", tmp_path])
    assert done.returncode != 0 and "not possible in a simulation" in done.stderr
    assert not (tmp_path / "log.jsonl").exists() and not leftovers(tmp_path)


def test_disk_without_space_is_refused_and_one_without_permission_is_an_error(openmpi, tmp_path):
    log = tmp_path / "log.jsonl"
    with memory(tmp_path / "small", "size=3m") as small:
        done = measured(openmpi, log, *BRIEF, f"--directory {small}")
    assert done.returncode == 2 and "free some space or run fewer processes" in error(done)
    with memory(tmp_path / "closed", "size=64m,ro") as closed:
        done = measured(openmpi, log, *BRIEF, f"--directory {closed}")
    assert done.returncode == 1 and "choose another one with --directory" in error(done)
