# SPDX-License-Identifier: Apache-2.0
"""b_eff_io_load: what the kernel measures, and that the load is what the operating system saw. Nodes are made up."""

import re
from collections import Counter
from itertools import product

import pytest
from b_eff_io_runs import EACH
from builds import PATIENCE, faulty
from file_systems import memory
from kernel_runs import good, of_kind, on_nodes, rank_processes, records, run, wait_until

from coffeecup.postprocess.benchmarks.b_eff_io.definition import METHODS
from coffeecup.postprocess.benchmarks.b_eff_io_load import IMPACTS
from coffeecup.postprocess.benchmarks.b_eff_io_load.records import Load, Loaded
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.reader import LogError

MIB = 2**20
TWO = [("a", 2), ("b", 1)]
KINDS = ["read", "write"]
PATTERNS = {3: MIB, 19: MIB, 20: 32 * 1024}
BRIEF = ["--scheduled-time", 1, "--load-file", "2MiB"]


def command(mpi, log, *options, nodes=TWO, env=None):
    return on_nodes(mpi, nodes, "b_eff_io_load", f"--log {log}", *options, env=env)


def measured(mpi, folder, *options, **settings):
    log = folder / "log.jsonl"
    words = command(mpi, log, f"--directory {folder}", *BRIEF, *options, **settings)
    good(run(words, env=mpi.impatient.environment))
    assert not list(folder.glob("b_eff_io_load-*"))
    return log


# --- what is measured -------------------------------------------------------------------------------------------------


@EACH
def test_victims_write_rewrite_and_read_in_each_phase_with_every_library(mpi, tmp_path):
    log = read_log(measured(mpi, tmp_path))
    rounds = max(record.repetition for record in log.all(Loaded))
    phases = Counter((record.phase, record.load, record.method, record.pattern) for record in log.all(Loaded))
    states = list(enumerate([None, "read", None, "write", None]))
    assert phases == {(*state, m, pattern): rounds for state, m, pattern in product(states, METHODS, PATTERNS)}
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
    notes = faulty(openmpi, "slow_files", SLOW_FILES_SECONDS=0, SLOW_FILES_NOTES=folder / "notes")
    log = measured(openmpi, folder, env=notes)
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
        score = score_log(measured(openmpi, tmp_path, f"--directory {folder}"))
    found = {qualification.key: qualification.text for qualification in score.qualifications}
    cached, read = re.search(r"The load read: (.*) of the (.*) that it read were in", found["cached_load"]).groups()
    assert cached == read
    assert "not_evicted" in found and "evicted" not in found


def test_one_kind_of_load_and_another_share_of_the_nodes(mpich, tmp_path):
    log = tmp_path / "log.jsonl"
    nodes = [(name, 1) for name in "abc"]
    options = ["--kinds", "write", "--victims", "34%", "--directory", tmp_path, *BRIEF]
    good(run(command(mpich, log, *options, nodes=nodes), env=mpich.impatient.environment))
    assert "write_impact_by_write" in score_log(log).metrics
    assert read_log(log).plan.load.victims == [0] and {record.senders for record in read_log(log).all(Load)} == {2}


def test_dry_run_prints_what_a_run_takes_and_leaves_nothing(openmpi, tmp_path):
    """Two files of the generating process, one for each kind of load, and one call of 1 MiB of each victim."""
    words = command(openmpi, tmp_path / "log.jsonl", f"--directory {tmp_path}", *BRIEF, "--dry-run")
    done = good(run(words, env=openmpi.impatient.environment))
    assert "2 are measured, 1 generate load" in done.stdout and "about 1 s" in done.stdout
    assert f"from {(2 * 2 + 2) * MIB * 1e-9:.3g} GByte" in done.stdout
    assert not list(tmp_path.iterdir())


def test_file_of_a_load_that_hangs_ends_the_run_with_its_reason(openmpi, tmp_path):
    """Writes of the load take longer than --hang-after allows."""
    log, notes = tmp_path / "log.jsonl", tmp_path / "notes"
    notes.mkdir()
    slow = faulty(openmpi, "slow_files", SLOW_FILES_SECONDS=PATIENCE, SLOW_FILES_NOTES=notes)
    words = command(openmpi, log, f"--directory {tmp_path} --hang-after 3", *BRIEF, env=slow)
    done = run(words, env=openmpi.environment)
    assert done.returncode != 0
    assert "the run hangs" in done.stderr
    wait_until(lambda: records(log)[-1]["record"] == "end" and not rank_processes("b_eff_io_load", log))
    with pytest.raises(LogError, match=r"(?s)no progress for 3 s.*load read"):
        score_log(log)
    assert not list(tmp_path.glob("b_eff_io_load-*"))
