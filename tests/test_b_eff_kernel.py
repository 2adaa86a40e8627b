# SPDX-License-Identifier: Apache-2.0
"""The b_eff kernel as a process, under Open MPI and under MPICH: what it plans and measures, what it refuses, and how
it ends.

Most runs go over a network that is a formula (faults/network.c): the times in the log then have to be those of the
formula, every byte is checked, and a message can be damaged on purpose.
"""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import NOT_COMPLETE, OPEN_MPI, PATIENCE, compiler_and_launcher
from file_systems import memory
from raw_log import read_log

from postprocess.benchmarks.scoring import score_log
from postprocess.logs.reader import LogError

FAULTS = Path(__file__).parent / "faults"
MEMORY = 4 * 2**20  # gives messages of up to 32 KiB
LENGTHS = 21
METHODS = ["sendrecv", "alltoallv", "nonblocking", "neighbor", "persistent"]
AVERAGED = METHODS[:3]
NOT_RANDOM = "ring,worst_cycle,bisection,cartesian_2d,cartesian_3d,ping_pong"
# The rings of each pattern (specification), and the grids of the original program: of 5 and 7 processes it drops one.
RINGS = {
    2: [[2]] * 6,
    3: [[3]] * 6,
    5: [[2, 3], [5], [5], [5], [5], [5]],
    7: [[2, 2, 3], [4, 3], [7], [7], [7], [7]],
    8: [[2] * 4, [4, 4], [8], [8], [8], [8]],
    16: [[2] * 8, [4] * 4, [8, 8], [16], [16], [16]],
}
GRIDS = {
    2: [(2, 1), (2, 1, 1)],
    3: [(3, 1), (3, 1, 1)],
    5: [(2, 2), (2, 2, 1)],
    7: [(3, 2), (3, 2, 1)],
    8: [(4, 2), (2, 2, 2)],
    16: [(4, 4), (4, 2, 2)],
}


# Running

# Open MPI's launcher otherwise lingers for two seconds after a run that failed.
IMPATIENT = OPEN_MPI | {"OMPI_MCA_odls_base_sigkill_timeout": "0"}


@pytest.fixture(params=["openmpi", "mpich"])
def mpi(request):
    return request.getfixturevalue(request.param)


@dataclass(frozen=True)
class Libraries:
    """Shared libraries to load before the kernel."""

    network: Path
    patience: Path


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    """The libraries of faults/, built for an MPI at its first use."""
    built = {}

    def build(name):
        if name not in built:
            folder = tmp_path_factory.mktemp(f"faults-{name}")
            built[name] = Libraries(folder / "network.so", folder / "patience.so")
            for library in (built[name].network, built[name].patience):
                source = FAULTS / library.with_suffix(".c").name
                subprocess.run(
                    [compiler_and_launcher(name)[0], "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"],
                    check=True,
                )
        return built[name]

    return build


def processes_with(word):
    """Live processes with a word in their command line, by id: their environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                variables = (folder / "environ").read_bytes().split(b"\0")
                found[int(folder.name)] = dict(v.decode(errors="replace").split("=", 1) for v in variables if b"=" in v)
        except (OSError, ValueError):
            continue
    return found


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Kernel:
    """Starts b_eff with its log in the test's own folder, whose name is also how its processes are found."""

    def __init__(self, mpi, libraries, folder):
        self.mpi, self.libraries, self.folder = mpi, libraries, folder
        self.log = folder / "log.jsonl"
        self.model = {}

    def network(self, **model):
        """From now on over faults/network.c, with these variables."""
        self.model = {name: str(value) for name, value in model.items()}
        return self

    def command(self, ranks, options, log, before=()):
        loaded = [str(self.libraries(self.mpi.name).network)] * bool(self.model)
        if self.mpi.name == "mpich" and ranks > 2:
            loaded.append(str(self.libraries(self.mpi.name).patience))
        environment = [f"{name}={value}" for name, value in self.model.items()] + [
            f"LD_PRELOAD={':'.join(loaded)}"
        ] * bool(loaded)
        return [
            *before,
            self.mpi.mpirun,
            "-np",
            str(ranks),
            "env",
            *environment,
            str(self.mpi.bin / "b_eff"),
            "--log",
            str(log),
            *options,
        ]

    @contextmanager
    def started(self, ranks, *options, log=None, environment=OPEN_MPI, **popen):
        process = subprocess.Popen(
            self.command(ranks, options, log or self.log, popen.pop("before", ())),
            env=os.environ | environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            **popen,
        )
        try:
            yield process
        finally:
            for pid in processes_with(str(self.folder)):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.kill()
            process.communicate()

    def run(self, ranks, *options, **how):
        with self.started(ranks, *options, environment=IMPATIENT, **how) as process:
            process.out, process.err = process.communicate(timeout=PATIENCE)
            assert self.no_process_is_left()
        return process

    def no_process_is_left(self):
        return wait_until(lambda: not processes_with(str(self.folder)))

    def records(self):
        """What lies in the log, complete or not; a last line that is cut off does not count."""
        lines = self.log.read_text().split("\n")[:-1] if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def errors(self, process):
        return [line for line in process.err.splitlines() if line.startswith(("b_eff: error", "coffeecup: error"))]


@pytest.fixture
def kernel(mpi, libraries, tmp_path):
    return Kernel(mpi, libraries, tmp_path)


@pytest.fixture
def openmpi_kernel(openmpi, libraries, tmp_path):
    return Kernel(openmpi, libraries, tmp_path)


# What is planned and measured


def in_ring(size):
    """Messages that a process of a ring sends in one exchange."""
    return 1 if size == 2 else 2


def expected_patterns(ranks, with_random):
    """(name, group, rings, messages that each rank sends or receives in one exchange, all ranks' messages)."""
    patterns = [
        (f"ring-{k}", "ring", rings, [in_ring(s) for s in rings for _ in range(s)])
        for k, rings in enumerate(RINGS[ranks], 1)
    ]
    whole = [in_ring(ranks)] * ranks
    if with_random:
        patterns += [(f"random-{k:02}", "random", [ranks], whole) for k in range(1, 31)]
    patterns.append(("worst-cycle", "worst_cycle", [ranks], whole))
    pairs = [1] * (ranks // 2 * 2)
    patterns += [("bisection-best", "bisection", None, pairs), ("bisection-worst", "bisection", None, pairs)]
    for grid in GRIDS[ranks]:
        each = [0 if extent == 1 else in_ring(extent) for extent in grid]
        name = f"cartesian-{len(grid)}d"
        members = math.prod(grid)
        patterns += [
            (f"{name}-{axis}", name.replace("-", "_"), None, [n] * members) for axis, n in zip("xyz", each) if n
        ]
        patterns.append((f"{name}-all", name.replace("-", "_"), None, [sum(each)] * members))
    patterns.append(("ping-pong", "ping_pong", None, [1, 1]))
    return [(*pattern, sum(pattern[3])) for pattern in patterns]


def expected_lengths(l_max):
    return [2**k for k in range(13)] + [round(4096 * (l_max / 4096) ** (k / 8)) for k in range(1, 9)]


def expanded(rings):
    return None if rings is None else [ring["size"] for ring in rings for _ in range(ring["count"])]


LATENCY, BANDWIDTH, SLOWDOWN = 4e-4, 1e8, 0.25


@pytest.mark.parametrize("ranks", sorted(RINGS))
def test_everything_is_planned_measured_and_checked_on_any_number_of_ranks(kernel, ranks):
    """Loops of a few exchanges keep the run short, those of latencies too; no loop is longer than the buffer, so every
    single byte is checked."""
    with_random = (kernel.mpi.name, ranks) in {("openmpi", 5), ("mpich", 2)}  # the thirty take long
    groups = [] if with_random else ["--patterns", NOT_RANDOM]
    kernel.network(MODEL_LATENCY=LATENCY, MODEL_BANDWIDTH=BANDWIDTH, MODEL_SLOWDOWN=SLOWDOWN)
    short = ["--memory-per-process", "4MiB", "--first-loop-length", "20", "--longest-loop", "100"]
    done = kernel.run(ranks, *short, "--time-budget", "86400", *groups)
    assert (done.returncode, kernel.errors(done)) == (0, [])
    log = read_log(kernel.log)
    expected = expected_patterns(ranks, with_random)

    assert log.run["ranks"] == ranks
    assert log.run["memory_per_process_bytes"] == MEMORY
    assert log.plan["message_bytes"] == expected_lengths(MEMORY // 128)
    planned = [
        (p["name"], p["group"], expanded(p["rings"]), p["processes"], p["messages_per_exchange"])
        for p in log.plan["patterns"]
    ]
    assert planned == [(name, group, rings, len(each), messages) for name, group, rings, each, messages in expected]
    assert {p["name"] for p in log.plan["patterns"] if p["averaged"]} == {
        n for n, group, *_ in expected if group in ("ring", "random")
    }
    assert "budget" not in log.records

    measured = [(m["repetition"], m["pattern"], m["message_bytes"], m["method"]) for m in log.records["measurement"]]
    assert measured == [
        (repetition, name, length, method)
        for repetition in (1, 2, 3)
        for name, *_ in expected
        for length in log.plan["message_bytes"]
        for method in (["blocking"] if name == "ping-pong" else METHODS)
    ]
    assert [(m["repetition"], m["pattern"], m["method"], m["loop_length"]) for m in log.records["latency"]] == [
        (repetition, name, method, 100)
        for repetition in (1, 2, 3)
        for name, group, *_ in expected
        if group in ("ring", "ping_pong")
        for method in (["blocking"] if name == "ping-pong" else AVERAGED)
    ]
    assert [(probe["repetition"], len(probe["hosts"])) for probe in log.records["probe"]] == [(1, 1), (2, 1), (3, 1)]
    check_times(log, {name: each for name, _, _, each, _ in expected})
    check_bytes(log)
    assert len(log.records["trial"]) == 3 * sum(len(p["methods"]) for p in log.plan["patterns"])
    print(f"{ranks} ranks, {kernel.mpi.name}: {len(measured)} measurements in {log.end['elapsed_seconds']:.1f} s")


def check_times(log, each_of):
    """The timed region holds the exchanges of the loop, all of them and no other; the slowest rank's time counts. The
    processes of a pair send and receive one after the other by sendrecv and blocking, and at the same time by the other
    methods."""
    groups = {p["name"]: p["group"] for p in log.plan["patterns"]}
    for measurement in [*log.records["measurement"], *log.records["latency"]]:
        cost = LATENCY + measurement["message_bytes"] / BANDWIDTH
        in_turns = groups[measurement["pattern"]] in ("bisection", "ping_pong") and measurement["method"] in (
            "sendrecv",
            "blocking",
        )
        each = each_of[measurement["pattern"]]
        exchange = [(2 if in_turns else 1) * n * cost * (1 + SLOWDOWN * rank) for rank, n in enumerate(each)]
        loop = measurement["loop_length"]
        assert measurement["elapsed_seconds"] == pytest.approx(loop * max(exchange), rel=1e-6), measurement
        assert measurement["fastest_seconds"] == pytest.approx(loop * min(exchange), rel=1e-6), measurement
        slowest_message = max(seconds / n for seconds, n in zip(exchange, each))
        assert measurement["slowest_message_seconds"] == pytest.approx(loop * slowest_message, rel=1e-6), measurement
        if measurement["record"] == "latency":
            continue
        if measurement["message_bytes"] == 1:
            assert loop == 20
        else:
            assert 2.45e-3 < loop * max(exchange) < 5.05e-3 or loop == 1, measurement


def check_bytes(log):
    """Received: every loop with an untimed exchange; three trials of one exchange for each pattern and method."""
    messages = {p["name"]: p["messages_per_exchange"] for p in log.plan["patterns"]}
    loops = [loop for kind in ("measurement", "latency", "trial") for loop in log.records.get(kind, [])]
    [check] = log.records["data_check"]
    assert check["received_bytes"] == sum(
        messages[m["pattern"]] * m["message_bytes"] * (m["loop_length"] + 1) for m in loops
    )
    # latency loops are longer than the buffers of 256 KiB on three ranks or more
    assert check["checked_bytes"] <= check["received_bytes"]
    assert check["wrong_bytes"] == 0


def test_a_run_by_the_real_clock_is_complete_and_keeps_its_budget_by_leaving_out_methods(kernel):
    done = kernel.run(2, "--memory-per-process", "4MiB", "--time-budget", "2", "--patterns", "ring,ping_pong")
    assert done.returncode == 0
    log = read_log(kernel.log)
    assert len(log.records["budget"]) > 0
    check_reductions(log)
    assert [check["wrong_bytes"] for check in log.records["data_check"]] == [0]
    assert "coffeecup score" in done.out
    print(f"budget 2 s, {kernel.mpi.name}: {log.end['elapsed_seconds']:.1f} s")


def test_options_in_effect_are_recorded(openmpi_kernel):
    options = ["--memory-per-process", "1MiB", "--patterns", "random", "--methods", "sendrecv", "--seed", "77"]
    openmpi_kernel.network(MODEL_LATENCY=1e-3, MODEL_BANDWIDTH=1e9)
    assert openmpi_kernel.run(3, *options, "--first-loop-length", "1").returncode == 0
    log = read_log(openmpi_kernel.log)
    assert log.plan["seed"] == log.run["options"]["seed"] == 77
    assert (
        log.run["options"].items()
        >= {
            "log": str(openmpi_kernel.log),
            "memory-per-process": 2**20,
            "time-budget": 240,
            "patterns": ["random"],
            "methods": ["sendrecv"],
            "seed": 77,
            "first-loop-length": 1,
        }.items()
    )
    assert [(p["name"], p["methods"]) for p in log.plan["patterns"]] == [
        (f"random-{k:02}", ["sendrecv"]) for k in range(1, 31)
    ]


# The time budget, on networks that are formulas


def check_reductions(log):
    """Each budget record says what then was measured, and each was needed."""
    kept = {"averaged_methods": AVERAGED, "nothing": []}
    measured = {}
    for m in log.records["measurement"]:
        measured.setdefault((m["repetition"], m["pattern"], m["message_bytes"]), {})[m["method"]] = m
    shorter = {b: a for a, b in pairwise(log.plan["message_bytes"])}
    for budget in log.records.get("budget", []):
        place = (budget["repetition"], budget["pattern"], budget["message_bytes"])
        assert log.plan["time_budget_seconds"] < budget["estimate_seconds"], budget
        if budget["loops"] == "latency":
            continue
        assert sorted(budget["methods"]) == sorted(measured.get(place, [])), budget
        assert budget["reduced_to"] != "nothing" or budget["repetition"] > 1, budget
        if budget["reduced_to"] in kept and budget["pattern"] != "ping-pong":
            assert budget["methods"] == kept[budget["reduced_to"]], budget
        before = measured.get((budget["repetition"], budget["pattern"], shorter[budget["message_bytes"]]), {})
        if budget["reduced_to"] == "best_method" and before:
            candidates = [m for name, m in before.items() if name in AVERAGED] or list(before.values())
            best = min(candidates, key=lambda m: m["elapsed_seconds"] / m["loop_length"])
            assert budget["methods"] == [best["method"]], budget


@pytest.mark.parametrize(
    "latency, bandwidth, memory, budget, reductions",
    [
        pytest.param(1e-3, 1e9, "4MiB", 240, set(), id="enough time"),
        pytest.param(
            1e-2, 1e9, "1MiB", 240, {"averaged_methods", "best_method"}, id="an exchange of thousands of processes"
        ),
        pytest.param(1e-4, 1e6, "4MiB", 60, {"nothing"}, id="long messages take long"),
        pytest.param(1e-4, 2e7, "256MiB", 240, {"best_method"}, id="the longest messages take longest"),
        pytest.param(4e-2, 1e9, "1MiB", 240, {"nothing"}, id="everything takes long"),
    ],
)
def test_the_whole_run_keeps_its_budget_on_slow_networks(
    openmpi_kernel, latency, bandwidth, memory, budget, reductions
):
    openmpi_kernel.network(
        MODEL_LATENCY=latency, MODEL_BANDWIDTH=bandwidth, MODEL_FACTOR_Sendrecv=1.3, MODEL_FACTOR_Alltoallv=1.1
    )
    done = openmpi_kernel.run(2, "--memory-per-process", memory, "--time-budget", str(budget))
    assert done.returncode == 0
    log = read_log(openmpi_kernel.log)
    check_reductions(log)
    budget_records = [record for record in log.records.get("budget", []) if record["loops"] == "bandwidth"]
    assert {record["reduced_to"] for record in budget_records} >= reductions
    assert bool(budget_records) == bool(reductions)
    assert "stop" not in log.records
    took = float(re.search(r"network: ([\d.]+) s", done.err)[1])
    print(
        f"budget {budget} s, taken {took:.1f} s, {len(budget_records)} reductions, "
        f"in truth {log.end['elapsed_seconds']:.1f} s"
    )
    assert took <= budget


@pytest.mark.parametrize(("budget", "longest", "pattern"), [(80, 140, "ring-2"), (10, 60, "ring-1")])
def test_a_run_that_cannot_keep_its_budget_is_stopped_and_says_where(openmpi_kernel, budget, longest, pattern):
    """An exchange takes a second. A run ends at 1.75 times its budget, and after a minute at least."""
    openmpi_kernel.network(MODEL_LATENCY=1, MODEL_BANDWIDTH=1e9)
    done = openmpi_kernel.run(2, "--memory-per-process", "1MiB", "--time-budget", str(budget))
    assert done.returncode == 0
    took = float(re.search(r"network: ([\d.]+) s", done.err)[1])
    one_length = 2 * 5  # an untimed and a timed exchange by five methods
    assert longest - one_length <= took <= longest + one_length
    log = read_log(openmpi_kernel.log)
    [stop] = log.records["stop"]
    last = log.records["measurement"][-1]
    assert (stop["pattern"], stop["repetition"]) == (last["pattern"], last["repetition"]) == (pattern, 1)
    measured = log.plan["message_bytes"].index(last["message_bytes"])
    assert stop["message_bytes"] == log.plan["message_bytes"][measured + 1]
    check_bytes(log)
    with pytest.raises(LogError, match=r"the run was stopped .* choose a larger --time-budget"):
        score_log(openmpi_kernel.log)


# What is refused


@pytest.mark.parametrize(
    "ranks, options, says",
    [
        (1, [], "at least two processes.*mpirun -n 2"),
        (2, ["--memory-per-process", "0"], "'0' is not a size from 1MiB"),
        (2, ["--memory-per-process", "10"], "'10' is not a size from 1MiB"),
        (2, ["--memory-per-process", "1PiB"], "'1PiB' is not a size"),
        (2, ["--memory-per-process", "abc"], "'abc' is not a size"),
        (2, ["--memory-per-process", "1000TiB"], "more than a node has for each of its processes.*choose less"),
        (2, ["--patterns", "ring,circle"], "'circle'; valid are ring,random"),
        (2, ["--methods", "telepathy"], "'telepathy'; valid are sendrecv"),
        (2, ["--patterns", "ping_pong", "--methods", "sendrecv"], "nothing to measure.*blocking"),
        (2, ["--fast"], "unknown option '--fast'; valid are --log"),
        (2, ["--time-budget"], "'--time-budget' requires a value"),
        (2, ["--time-budget", "0"], "seconds from 1 to 86400"),
        (2, ["--seed", "-1"], "whole number from 0"),
        (2, ["ring"], "'ring' is not an option"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_wrong_request_is_refused_in_one_line_with_the_remedy(kernel, ranks, options, says):
    done = kernel.run(ranks, *options)
    [error] = kernel.errors(done)
    assert re.search(says, error), error
    assert done.returncode == 2
    assert not kernel.log.exists()


def refused_log(kernel, log, says, **how):
    done = kernel.run(2, "--patterns", "ping_pong", "--memory-per-process", "1MiB", log=log, **how)
    [error] = kernel.errors(done)
    assert re.search(says, error), error
    assert str(log) in error and done.returncode == 2


def test_an_existing_log_is_never_overwritten(kernel):
    kernel.log.write_text("precious\n")
    refused_log(kernel, kernel.log, "File exists; choose another name.*never overwritten")
    assert kernel.log.read_text() == "precious\n"


def test_a_log_in_a_directory_that_is_missing_is_refused(kernel, tmp_path):
    refused_log(kernel, tmp_path / "missing" / "log.jsonl", "No such file or directory; create the directory")


def test_a_log_that_is_a_device_or_a_directory_is_refused(kernel, tmp_path):
    refused_log(kernel, Path("/dev/full"), "File exists")
    refused_log(kernel, tmp_path, "File exists|Is a directory")


def test_a_log_on_a_read_only_file_system_is_refused(kernel, tmp_path):
    with memory(tmp_path / "mounted", "ro,size=64k") as folder:
        refused_log(kernel, folder / "log.jsonl", "Read-only file system; choose a writable directory")


def test_a_log_in_a_directory_without_permission_is_refused(kernel, libraries):
    """Root may write anywhere, so root runs this one as nobody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(kernel.mpi.bin / "b_eff", folder)
        folder.chmod(0o555)
        how = {}
        if os.geteuid() == 0:
            if not shutil.which("setpriv"):
                pytest.skip("root may write anywhere, and there is no setpriv to run as somebody else")
            how["before"] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/tmp"]
        other = Kernel(type(kernel.mpi)(kernel.mpi.name, kernel.mpi.mpirun, folder), libraries, folder)
        refused_log(other, other.log, "Permission denied; choose a writable directory", **how)


@pytest.mark.parametrize("room", ["4k", "16k"], ids=lambda room: f"{room} of room")
def test_a_disk_that_fills_up_ends_the_run_as_failed_without_a_score(kernel, tmp_path, room):
    with memory(tmp_path / "mounted", f"size={room}") as folder:
        kernel.log = folder / "log.jsonl"
        done = kernel.run(2, "--memory-per-process", "1MiB", "--patterns", "ring", "--first-loop-length", "5")
        [error] = kernel.errors(done)
        assert re.search(r"cannot write the log '.*': No space left on device; free some space", error), error
        assert done.returncode == 1
        records = kernel.records()  # whole lines only
        assert all(record.get("status") != "complete" for record in records)
        with pytest.raises(LogError):
            read_log(kernel.log)


# How a run ends that is not allowed to


def rank_of(variables):
    return int(variables.get("OMPI_COMM_WORLD_RANK", variables.get("PMI_RANK", -1)))


def process_of_rank(kernel, rank):
    found = [pid for pid, variables in processes_with(str(kernel.log)).items() if rank_of(variables) == rank]
    [pid] = [pid for pid in found if Path(f"/proc/{pid}/comm").read_text().strip() == "b_eff"]
    return pid


@contextmanager
def in_mid_run(kernel):
    """A run of minutes, some measurements of which are in the log."""
    with kernel.started(2, "--memory-per-process", "16MiB", "--time-budget", "600") as process:
        assert wait_until(lambda: process.poll() is not None or len(kernel.records()) > 20)
        assert process.poll() is None, process.communicate()
        yield process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
@pytest.mark.parametrize("target", ["mpirun", "rank 0"])
def test_an_interrupted_run_closes_its_log_and_yields_no_score(kernel, target, number):
    with in_mid_run(kernel) as process:
        os.kill(process.pid if target == "mpirun" else process_of_rank(kernel, 0), number)
        process.communicate(timeout=PATIENCE)
        assert kernel.no_process_is_left()
    if (kernel.mpi.name, target) != (
        "mpich",
        "mpirun",
    ):  # MPICH's launcher ends with 0 now and then when it is told to end
        assert process.returncode != 0
    assert kernel.records()[-1]["status"] == "interrupted"
    assert kernel.records()[-1]["reason"] in ("SIGTERM", "SIGINT")
    with pytest.raises(LogError, match="interrupted"):
        read_log(kernel.log)


def test_a_killed_rank_ends_the_run_without_a_score(kernel):
    with in_mid_run(kernel) as process:
        os.kill(process_of_rank(kernel, 1), signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert kernel.no_process_is_left()
    assert kernel.records()[-1]["status"] in NOT_COMPLETE
    with pytest.raises(LogError, match=r"interrupted|rank 0 was killed or crashed"):
        read_log(kernel.log)


# Damaged messages

CALLS = {
    "sendrecv": "Sendrecv",
    "alltoallv": "Alltoallv",
    "nonblocking": "Waitall",
    "neighbor": "Neighbor_alltoallv",
    "persistent": "Startall",
    "blocking": "Recv",
}


@pytest.mark.parametrize("kind", ["flip", "drop"])
@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize("length, number", [(4096, 5), (32768, 2)])
def test_one_damaged_message_fails_the_run_and_is_named(kernel, method, kind, length, number):
    """Only one message of thousands is struck, on rank 1, after `number` others of its length."""
    offset = 0 if kind == "drop" else length - 3
    kernel.network(
        MODEL_LATENCY=5e-4,
        MODEL_BANDWIDTH=1e9,
        FAULT_KIND=kind,
        FAULT_CALL=CALLS[method],
        FAULT_BYTES=length,
        FAULT_RANK=1,
        FAULT_NUMBER=number,
        FAULT_OFFSET=offset,
    )
    pattern = "ping_pong" if method == "blocking" else "ring"
    done = kernel.run(
        2, "--memory-per-process", "4MiB", "--patterns", pattern, "--methods", method, "--first-loop-length", "2"
    )
    [error] = kernel.errors(done)
    name = "ping-pong" if method == "blocking" else "ring-1"
    assert (
        f"pattern {name}, method {method}, message length {length} byte: rank 1 received a wrong byte from rank 0 at "
        "offset " in error
    )
    if kind == "flip":
        assert f"at offset {offset};" in error
    assert done.returncode == 1
    end = kernel.records()[-1]
    assert end["status"] == "failed" and end["reason"] in error
    assert (end["rank"], end["host"]) == (1, kernel.records()[0]["hosts"][0]["name"])
    with pytest.raises(LogError, match="data check"):
        read_log(kernel.log)


@pytest.mark.parametrize("kind", ["flip", "drop"])
def test_a_damaged_message_is_found_among_three_ranks_and_two_neighbours(kernel, kind):
    kernel.network(
        MODEL_LATENCY=5e-4,
        MODEL_BANDWIDTH=1e9,
        FAULT_KIND=kind,
        FAULT_CALL="Alltoallv",
        FAULT_BYTES=1024,
        FAULT_RANK=2,
        FAULT_NUMBER=3,
        FAULT_OFFSET=1023,
    )
    done = kernel.run(
        3, "--memory-per-process", "4MiB", "--patterns", "ring", "--methods", "alltoallv", "--first-loop-length", "2"
    )
    [error] = kernel.errors(done)
    assert "method alltoallv, message length 1024 byte: rank 2 received a wrong byte from rank 0 at offset " in error
    assert done.returncode == 1


@pytest.mark.alone
def test_processor_time_of_others_is_told_apart_from_the_run_s_own(openmpi_kernel):
    """A loop of the shell's beside the run burns a known time; the run's two spinning processes burn more, and are not
    counted."""
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as burner:
        try:
            before, start = processor_seconds(burner.pid), time.monotonic()
            openmpi_kernel.run(2, "--memory-per-process", str(MEMORY), "--time-budget", "3")
            burnt, elapsed = processor_seconds(burner.pid) - before, time.monotonic() - start
        finally:
            burner.kill()
    [activity] = [record for record in openmpi_kernel.records() if record["record"] == "activity"]
    [host] = activity["hosts"]
    assert host["others_user_seconds"] >= 0.8 * burnt * activity["elapsed_seconds"] / elapsed
    assert host["stolen_seconds"] >= 0 and 0 < activity["elapsed_seconds"] <= elapsed


def processor_seconds(pid):
    """User time of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11]) / os.sysconf("SC_CLK_TCK")


# Memory errors and leaks


def short_run(bin_folder, wrapper, ranks, log, *, mpirun, environment=()):
    options = [
        "--memory-per-process",
        "1MiB",
        "--patterns",
        "ring,bisection,cartesian_2d,ping_pong",
        "--first-loop-length",
        "1",
        "--time-budget",
        "1",
    ]
    command = [mpirun, "-np", str(ranks), "env", *environment, *wrapper, bin_folder / "b_eff", "--log", log, *options]
    return subprocess.run(
        command, env=os.environ | OPEN_MPI, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_address_and_undefined_behaviour_sanitizers_are_silent(sanitized, openmpi, libraries, tmp_path, ranks):
    """Leaks are left to valgrind, which can tell ours from those of the MPI library."""
    environment = [
        "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0",
        "MODEL_LATENCY=1e-3",
        f"LD_PRELOAD={libraries('openmpi').network}",
    ]
    done = short_run(
        sanitized / "install" / "bin", [], ranks, tmp_path / "log.jsonl", mpirun=openmpi.mpirun, environment=environment
    )
    assert done.returncode == 0, done.stderr
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr
    assert read_log(tmp_path / "log.jsonl").end["status"] == "complete"


def test_unit_tests_are_clean_under_the_sanitizers(sanitized):
    """Leaks of these are only those of the tests themselves."""
    environment = os.environ | OPEN_MPI | {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        ["ctest", "--test-dir", sanitized, "--output-on-failure"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("ranks", [2, 3])
def test_valgrind_finds_no_error_and_no_leak(mpich, libraries, tmp_path, ranks):
    """Under MPICH, which itself is nearly clean; faults/valgrind.supp names the rest."""
    if not shutil.which("valgrind"):
        pytest.skip("no valgrind on this machine")
    wrapper = [
        "valgrind",
        "--quiet",
        "--leak-check=full",
        "--show-leak-kinds=definite",
        "--errors-for-leak-kinds=definite",
        "--error-exitcode=7",
        f"--suppressions={FAULTS / 'valgrind.supp'}",
        f"--log-file={tmp_path}/valgrind.%p",
    ]
    loaded = libraries("mpich")
    environment = [f"LD_PRELOAD={loaded.network}:{loaded.patience}", "MODEL_LATENCY=1e-3"]
    done = short_run(mpich.bin, wrapper, ranks, tmp_path / "log.jsonl", mpirun=mpich.mpirun, environment=environment)
    reports = [path.read_text() for path in tmp_path.glob("valgrind.*")]
    assert done.returncode == 0, "\n".join([*reports, done.stderr])
    assert len(reports) == ranks + 1, "those of the ranks and of the keeper that rank 0 started"
    assert read_log(tmp_path / "log.jsonl").end["status"] == "complete"
