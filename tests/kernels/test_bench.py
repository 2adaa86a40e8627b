# SPDX-License-Identifier: Apache-2.0
"""`make bench`: the comparison of kernels with their peers, on made-up kernels and peers of known speed."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import bench
import bench_ftio
import comparison
import kernel_runs
import logs_made
import numpy as np
import pytest
from builds import ROOT, compiled, executable
from comparison import (
    Comparison,
    ComparisonError,
    Estimate,
    Outcome,
    aggregate_outcome,
    case_outcome,
    estimate,
    judge,
    verdict,
)
from conftest import CORES
from logs_made_ftio import ftio_log

STAGES = ("initialise", "series_1", "transpose", "exchange", "series_2", "verify")
# of the made log: its activities take the same time within a stage, one second together with the opening of the file
KERNEL_SECONDS = dict.fromkeys((*STAGES, "transforms"), 1.0) | {"initialise": 2 / 3}
ANY_LOAD = ["--busy-cores", "inf"]

# Prints its seconds, each of them multiplied by what the script of a test says.
PEER = """#!{python}
import json, pathlib, sys
runs = pathlib.Path("{runs}")
runs.write_text(runs.read_text() + "x" if runs.exists() else "x")
run, seconds = len(runs.read_text()), {seconds}
{script}
print(json.dumps(seconds))
"""


@pytest.fixture
def ftio_beside(tmp_path, monkeypatch, capfd):
    """Runs bench_ftio.py on a kernel that leaves a made log, beside a peer that is this script."""

    log = logs_made.write(tmp_path / "made.jsonl", ftio_log(ranks=2, repetitions=1))
    executable(tmp_path / "mpirun", 'shift 2\nexec "$@"')
    executable(tmp_path / "build/ftio/ftio", f'while [ "$1" != --log ]; do shift; done\ncp {log} "$2"')

    def run(script, *options):
        executable(
            tmp_path / "build/tests/bench_ftio",
            PEER.format(python=sys.executable, runs=tmp_path / "runs", seconds=KERNEL_SECONDS, script=script),
        )
        where = f"--build {tmp_path}/build --mpirun {tmp_path}/mpirun --directory {tmp_path} --input 4".split()
        monkeypatch.setattr(sys, "argv", ["bench_ftio.py", *where, *ANY_LOAD, *options])
        try:
            code = bench_ftio.main()
        except SystemExit as refused:
            code = refused.code
        return SimpleNamespace(returncode=code, **capfd.readouterr()._asdict())

    return run


def table(output):
    rows = re.findall(r"^  (.{44}) *([\d.]+) \[", output, re.MULTILINE)
    return {case.strip(): float(median) for case, median in rows}


def times(factor):
    return f"seconds = {{name: {factor} * value for name, value in seconds.items()}}"


# --- end to end: made-up peers --------------------------------------------------


@pytest.mark.parametrize(
    ("factor", "code", "verdict", "ratio"),
    [(2, 0, "as fast", 2.0), (0.5, 1, "slower", 0.5), ("[0.3, 0.7, 1.5, 3][run % 4]", 1, "cannot tell", None)],
)
def test_verdict_and_exit_code_follow_the_speed_of_the_peer(ftio_beside, factor, code, verdict, ratio):
    done = ftio_beside(times(factor))
    assert done.returncode == code, done.err
    assert done.out.splitlines()[-1].startswith(f"ftio --input 4 beside bare loop: {verdict}")
    cases = ["all cases", *(f"I/O of {stage}" for stage in STAGES), "transforms"]
    assert ratio is None or table(done.out) == dict.fromkeys(cases, ratio)


def test_one_case_in_which_the_peer_is_faster_fails_the_comparison(ftio_beside):
    done = ftio_beside("seconds['transpose'] *= 0.9")
    assert done.returncode == 1, done.err
    assert table(done.out)["I/O of transpose"] == 0.9 and table(done.out)["I/O of verify"] == 1.0
    assert table(done.out)["all cases"] == round(0.9 ** (1 / 7), 3)
    assert re.search(r"I/O of transpose .*slower$", done.out, re.MULTILINE)


def test_peer_that_fails_is_an_error(ftio_beside):
    done = ftio_beside("sys.exit('the disk is gone')")
    assert done.returncode == 2
    said = ("beside bare loop: error", "failed with exit code 1", "the disk is gone")
    assert all(words in done.out for words in said) and not table(done.out)


rare = partial(pytest.param, marks=pytest.mark.prove)


@pytest.mark.parametrize(
    "script, problem",
    [
        ("seconds['verify'] = float('nan')", "nan as speed of 'I/O of verify'"),
        rare("seconds['verify'] = float('inf')", "0.0 as speed of 'I/O of verify'"),
        rare("seconds['verify'] = -1", "-1.0 as speed of 'I/O of verify'"),
        rare("seconds['verify'] = 0", "no usable output: ZeroDivisionError"),
        rare("seconds['verify'] = None", "no usable output: TypeError"),
        ("del seconds['verify']", "do not report the same cases: I/O of verify"),
        ("if run == 13: del seconds['verify']", "do not report the same cases: I/O of verify"),  # the last of all runs
        ("print('Segmentation fault'); sys.exit()", "no usable output: JSONDecodeError"),
        ("sys.exit()", "no usable output: JSONDecodeError"),
    ],
)
def test_peer_without_a_number_for_each_case_is_an_error(ftio_beside, script, problem):
    done = ftio_beside(script)
    assert done.returncode == 2, done.out
    assert problem in done.out
    assert not table(done.out)


def test_fewer_pairs_than_an_interval_requires_are_refused(ftio_beside):
    done = ftio_beside(times(2), "--pairs", "11")
    assert done.returncode == 2 and "at least 12" in done.err


def test_comparison_of_no_case_is_an_error_of_the_program():
    assert kernel_runs.run([sys.executable, bench_ftio.__file__, *ANY_LOAD, "--only", "no such"]).returncode == 2


def test_every_bench_runs_and_the_exit_code_is_that_of_all(capfd):
    fail, succeed = [sys.executable, "-c", "import sys; sys.exit(2)"], [sys.executable, "-c", "print('ran')"]
    assert bench.run_all({"first": fail, "second": succeed}) == 1
    assert capfd.readouterr().out.count("ran\n") == 1
    assert bench.run_all({"first": succeed, "second": fail}) == 1
    assert bench.run_all({"first": succeed, "second": succeed}) == 0
    assert all(script.exists() for script in (bench.KERNELS | bench.OTHERS).values())


def test_options_go_to_the_comparisons_of_the_kernels_alone(monkeypatch):
    commands = {}
    monkeypatch.setattr(bench, "run_all", commands.update)
    monkeypatch.setattr(sys, "argv", ["bench.py", "--benches", "ftio,history", "--pairs", "30"])
    bench.main()
    assert {name: [Path(command[1]).name, *command[2:]] for name, command in commands.items()} == {
        "ftio": ["bench_ftio.py", "--pairs", "30"],
        "history": ["bench_history.py"],
    }
    monkeypatch.setattr(sys, "argv", ["bench.py", "--benches", "no_such"])
    with pytest.raises(SystemExit) as refused:
        bench.main()
    assert refused.value.code == 2


# --- thresholds --------------------------------------------------


@pytest.mark.parametrize(
    "low, high, case, aggregate",
    [
        (0.95, 0.95, Outcome.AS_FAST, Outcome.AS_FAST),
        (0.9499, 0.95, Outcome.AS_FAST, Outcome.UNDECIDED),
        (0.90, 0.9499, Outcome.SLOWER, Outcome.SLOWER),
        (0.10, 0.9499, Outcome.SLOWER, Outcome.SLOWER),
        (0.95, 9.0, Outcome.AS_FAST, Outcome.AS_FAST),
        (0.80, 1.20, Outcome.AS_FAST, Outcome.UNDECIDED),
        (0.80, 1.21, Outcome.UNDECIDED, Outcome.UNDECIDED),
    ],
)
def test_outcome_of_an_interval(low, high, case, aggregate):
    found = Estimate((low + high) / 2, low, high)
    assert (case_outcome(found), aggregate_outcome(found)) == (case, aggregate)


@pytest.mark.parametrize(
    "aggregate, case, expected",
    [
        (Outcome.AS_FAST, Outcome.AS_FAST, Outcome.AS_FAST),
        (Outcome.AS_FAST, Outcome.UNDECIDED, Outcome.UNDECIDED),
        (Outcome.UNDECIDED, Outcome.AS_FAST, Outcome.UNDECIDED),
        (Outcome.UNDECIDED, Outcome.SLOWER, Outcome.SLOWER),
        (Outcome.SLOWER, Outcome.AS_FAST, Outcome.SLOWER),
    ],
)
def test_verdict_is_the_worst_outcome(aggregate, case, expected):
    assert verdict((None, aggregate), {"first": (None, Outcome.AS_FAST), "second": (None, case)}) is expected


def test_aggregate_is_the_geometric_mean_over_the_cases_of_a_pair():
    (aggregate, _), _ = judge({"first": [2.0] * 12, "second": [8.0] * 12})
    assert aggregate.middle == pytest.approx(4.0)


def test_interval_contains_the_true_median_as_often_as_it_claims():
    random = np.random.default_rng(3)
    intervals = [estimate(np.exp(0.1 * random.standard_normal(12))) for _ in range(200)]
    covered = sum(found.low <= 1 <= found.high for found in intervals)
    # 95 % of 200, less 2 % for the few pairs and four standard deviations of a binomial distribution
    assert covered >= 174
    assert all(found.low <= found.middle <= found.high for found in intervals)


# --- pairs --------------------------------------------------


@pytest.fixture
def options(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "PROBE_SECONDS", 0.01)
    return comparison.options_of("", [*ANY_LOAD, "--directory", str(tmp_path)])


def test_order_alternates_and_the_first_pair_does_not_count(options):
    ran = []

    def side(name):
        def run(number):
            ran.append((number, name))
            return {"case": 1e9 if number == 0 and name == "kernel" else 1.0}

        return run

    ratios, errors = comparison.measure("kernel", [Comparison("peer", side("kernel"), side("peer"))], options)
    assert not errors and ratios == {"peer": {"case": [1.0] * 12}}
    first = ran[::2]
    assert first == [(0, "kernel"), *((number, "kernel" if number % 2 else "peer") for number in range(1, 13))]


def test_failing_peer_does_not_cost_another_one_its_comparison(options, capsys):
    def fail(_):
        raise ComparisonError("no such program")

    steady = Comparison("steady", lambda _: {"case": 1.0}, lambda _: {"case": 1.0})
    assert comparison.compare("kernel", [Comparison("failing", lambda _: {"case": 1.0}, fail), steady], options) == 2
    output = capsys.readouterr().out
    assert "kernel beside steady: as fast" in output and "kernel beside failing: error: no such program" in output


def test_pair_starts_only_on_an_idle_machine(options, monkeypatch):
    loads, ran = iter([0.8, 0.6, 0.4]), []
    monkeypatch.setattr(comparison, "busy_cores", lambda: next(loads))
    comparison.wait_for_idle_machine(0.5)
    assert next(loads, None) is None  # waited through 0.8 and 0.6

    monkeypatch.setattr(comparison, "busy_cores", lambda: 0.51)
    monkeypatch.setattr(comparison, "PATIENCE_SECONDS", 0)
    options.busy_cores = 0.5
    _, errors = comparison.measure("kernel", [Comparison("peer", ran.append, ran.append)], options)
    assert "0.5 cores" in errors["peer"] and not ran
    monkeypatch.setattr(comparison, "busy_cores", lambda: 0.5)
    comparison.wait_for_idle_machine(0.5)


@pytest.mark.rate
def test_load_of_other_processes_is_seen(monkeypatch):
    monkeypatch.setattr(comparison, "PROBE_SECONDS", 1)
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        assert comparison.busy_cores() > 0.5
    finally:
        busy.kill()
        busy.wait()


# --- the work of both sides --------------------------------------------------


def test_peers_memory_is_written_before_it_is_sent(tmp_path):
    """Memory that was never written is one page of zeros that stays in the cache."""
    source = tmp_path / "sender.c"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        "int main(void) { char *buffer = malloc(8 << 20); long zeros = 0; "
        'for (long i = 0; i < 8 << 20; i += 4096) zeros += buffer[i + 64] == 0; printf("%ld\\n", zeros); return 0; }\n'
    )
    sender = compiled(tmp_path / "sender", source)
    assert int(kernel_runs.run([sender]).stdout) == 2048  # without the remedy
    assert int(comparison.start(sender)) == 0


def test_cache_size_is_hwlocs(options, tmp_path, monkeypatch):
    caches = '<object type="L3Cache" cache_size="50331648"><object type="L2Cache" cache_size="1048576"/></object>'
    executable(
        tmp_path / "lstopo-no-graphics", f"echo '<topology><object type=\"Machine\">{caches}</object></topology>'"
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert comparison.cache_bytes(options) == 48 * 2**20
    options.cache_bytes = 12345
    assert comparison.cache_bytes(options) == 12345


@pytest.mark.parametrize(
    "matrix_bytes, processes, expected",
    [
        (16 * 3200**2 - 1, 2, 40),  # N = i² c = 3200
        (16 * 3200**2 + 1, 2, 42),
        (16 * 1, 1, 2),
        (16 * 288**2 - 1, 8, 8),  # i = 6 has N = 288, but 8 does not divide 36
    ],
)
def test_ftio_takes_the_smallest_matrix_beyond_the_cache(matrix_bytes, processes, expected):
    assert bench_ftio.smallest_input(matrix_bytes, processes) == expected


@pytest.fixture(scope="session")
def bare_loops(tmp_path_factory):
    """bench_b_eff.c as CMake builds it, for the MPI on PATH."""
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        pytest.skip("no MPI on PATH")
    source, program = ROOT / "kernels/tests/bench_b_eff.c", tmp_path_factory.mktemp("bench") / "bench_b_eff"
    return compiled(program, source, flags=["-O3"], compiler="mpicc")


@pytest.mark.parametrize("method", ["sendrecv", "nonblocking", "alltoallv", "blocking"])
def test_bare_loops_time_every_loop_of_the_plan(bare_loops, options, tmp_path, method):
    plan = tmp_path / "plan"
    loops = ((1, 1), (1, 3000), (9742, 30), (2**20, 20))
    plan.write_text("".join(f"{method} {size} {exchanges}\n" for size, exchanges in loops))
    with_cores = ["taskset", "-c", ",".join(map(str, CORES)), options.mpirun]
    seconds = json.loads(comparison.start(*with_cores, "-n", 2, bare_loops, 8 * 2**20, plan).splitlines()[-1])
    assert len(seconds) == 4 and all(taken > 0 for taken in seconds)
