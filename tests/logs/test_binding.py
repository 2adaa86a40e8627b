# SPDX-License-Identifier: Apache-2.0
"""A log belongs to the job that its session states, and was written by the programs that it states: everything else is
refused. test_ledger.py manipulates whole sessions."""

import getpass
import os
import re
import subprocess
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import logs_made
import pytest
from builds import PATIENCE, ROOT, run
from contracts_made import FREE, NONCE, START, provable
from kernel_runs import of_kind
from logs_made import sha256
from logs_made_b_eff import averaged_log
from msgspec.structs import replace as with_fields

from coffeecup.postprocess.acceptance.binding import Issued, Place, same_host, unbound
from coffeecup.postprocess.acceptance.ledger import Entry
from coffeecup.postprocess.benchmarks.scoring import read_log, score_log
from coffeecup.postprocess.logs.records import Clocks, End, File, Files, Job, OtherFile, PhaseClocks

BEGIN = datetime.fromisoformat(START).timestamp()
PLACE = Place(getpass.getuser(), "local", "4711", ("node00", "node01"), BEGIN, BEGIN + 10**6, FREE)
ENTRY = Entry(1, FREE, datetime.fromtimestamp(BEGIN, UTC), None, None)
LATER = datetime(2100, 1, 1, tzinfo=UTC)
PROGRAM = File("program", "/opt/bin/b_eff", "0" * 64)
LIBRARY = File("library", "/lib/libmpi.so", None)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of two nodes that PLACE and ENTRY account for."""
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    return score_log(logs_made.write(path, provable(averaged_log(ranks=2, nodes=2)))).log


def keys(log, place=PLACE, entry=ENTRY, now=LATER):
    found = list(unbound(place, log, Issued({entry.nonce: entry}, now)))
    assert all(refusal.text.isprintable() and not refusal.text.endswith(".") for refusal in found)
    return [refusal.key for refusal in found]


def with_run(log, **fields):
    return replace(log, run=with_fields(log.run, **fields))


def with_provenance(log, **fields):
    return with_run(log, provenance=with_fields(log.run.provenance, **fields))


def with_record(log, kind, *records):
    return replace(log, by_class={**log.by_class, kind: list(records)})


def ended(log, elapsed_seconds, end_time):
    return with_record(log, End, with_fields(log.end, elapsed_seconds=elapsed_seconds, end_time=end_time))


# --- a run and its session --------------------------------------------------------------------------------------------


def test_a_run_that_agrees_with_its_session_is_bound_to_it(log):
    assert keys(log) == []
    assert keys(log, replace(PLACE, hosts=("NODE00.cluster.example", "node01", "node02"))) == []


@pytest.mark.parametrize(
    ("nonce", "entry", "place"),
    [
        (None, ENTRY, PLACE),
        ("e" * 64, ENTRY, PLACE),  # of another contract
        (FREE, ENTRY, replace(PLACE, nonce="")),
        (FREE, ENTRY, replace(PLACE, nonce="e" * 64)),
    ],
)
def test_a_run_without_the_nonce_of_its_session_is_refused(log, nonce, entry, place):
    assert keys(with_provenance(log, nonce=nonce), place, entry) == ["unbound"]


YEARS = 6 * 365 * 86400


@pytest.mark.parametrize(("seconds", "refused"), [(60, []), (61, ["other_time"]), (YEARS, ["other_time"])])
def test_a_run_before_its_nonce_was_issued_or_in_the_future_is_refused(log, seconds, refused):
    """In the future: the period of a contract has not begun, and the clocks of the machine were set forward."""
    assert keys(log, entry=replace(ENTRY, issued=ENTRY.issued + timedelta(seconds=seconds))) == refused
    assert keys(log, now=datetime.fromtimestamp(BEGIN - seconds, UTC)) == refused


@pytest.mark.parametrize(
    ("begin", "end", "refused"),
    [(60, 40, []), (61, 40, ["other_time"]), (0, 39, ["other_time"]), (YEARS, 2 * YEARS, ["other_time"])],
)
def test_a_run_outside_the_time_of_its_job_is_refused(log, begin, end, refused):
    """The run took 100 s. The clocks of two machines may differ by a minute."""
    took_100 = ended(log, 100.0, "2026-11-20T14:01:40Z")
    assert keys(took_100, replace(PLACE, begin=BEGIN + begin, end=BEGIN + end)) == refused


def test_a_clock_that_differs_from_the_time_of_day_is_refused(log):
    """By more than 2 s and 1 % of the 100 s that the run took."""
    found = [keys(ended(log, elapsed, "2026-11-20T14:01:40Z")) for elapsed in (97.0, 103.0, 96.9, 103.1, 33.0)]
    assert found == [[]] * 2 + [["clock"]] * 3


def test_an_mpi_clock_that_differs_from_the_time_of_day_is_refused(log):
    """By more than 0.1 s and 0.5 % of the 100 s that the run took. Measurements are by MPI's clock."""
    times = (99.401, 100.599, 99.399, 100.602, 33.3)
    found = [keys(with_record(log, Clocks, Clocks(4, by_mpi, 100.0, [phase("read", 2.0)]))) for by_mpi in times]
    assert found == [[]] * 2 + [["clock"]] * 3


def test_a_phase_that_was_shorter_by_the_clock_that_measured_than_by_the_time_of_day_is_refused(log):
    """By more than 0.1 s and 1 % of its 2 s, in a run whose clocks agree."""
    phases = [[phase("write", 5.0), phase("read", measured)] for measured in (1.881, 2.119, 1.879, 2.121, 1.0)]
    found = [keys(with_record(log, Clocks, Clocks(4, 100.0, 100.0, both))) for both in phases]
    assert found == [[]] * 2 + [["clock"]] * 3
    slow = with_record(log, Clocks, Clocks(4, 100.0, 100.0, phases[-1]))
    [refusal] = unbound(PLACE, slow, Issued({FREE: ENTRY}, LATER))
    assert refusal.text == "it took 2 s by the time of day, but 1 s by the clock that measured read"
    assert keys(with_record(log, Clocks, Clocks(4, 33.3, 100.0, phases[-1]))) == ["clock"], "one reason is enough"


def test_what_short_phases_hide_is_in_their_sum(log):
    """Of 2 s each, 0.1 s is missing in none of three, but 0.1 s and 1 % of all 6 s."""
    found = [
        keys(with_record(log, Clocks, Clocks(4, 100.0, 100.0, [phase(str(number), less) for number in range(3)])))
        for less in (1.947, 1.946)
    ]
    assert found == [[], ["clock"]]


def phase(name, measured_seconds):
    return PhaseClocks(phase=name, measured_seconds=measured_seconds, day_seconds=5.0 if name == "write" else 2.0)


@pytest.mark.parametrize("hosts", [(), ("node00",), ("node00", "node02"), ("node00", "node1")])
def test_a_run_on_other_hosts_than_the_job_is_refused(log, hosts):
    assert keys(log, replace(PLACE, hosts=hosts)) == ["other_host"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("vm", "vm", True),
        ("vm", "VM.cluster.example", True),
        ("vm.cluster.example.", "vm.cluster.example", True),
        ("vm.a.example", "vm.b.example", False),
        ("vm", "vm1.cluster.example", False),
        ("10", "10.1.2.3", False),
    ],
)
def test_short_and_full_names_are_those_of_one_host(one, other, same):
    assert same_host(one, other) is same and same_host(other, one) is same


def test_a_run_of_another_user_is_refused(log):
    assert keys(with_provenance(log, user="somebody else")) == ["other_user"]


@pytest.mark.parametrize(
    ("scheduler", "job", "refused"),
    [
        ("local", None, []),
        ("local", Job("slurm", "1", None), []),  # ReFrame itself runs in a job
        ("slurm", Job("slurm", "4711", "node[00-01]"), []),
        ("squeue", Job("slurm", "4711", None), []),
        ("pbs", Job("pbs", "4711.server", None), []),
        ("flux", Job("flux", "f2x", None), []),
        ("slurm", Job("slurm", "4712", None), ["other_job"]),
        ("slurm", Job("pbs", "4711", None), ["other_job"]),
        ("pbs", Job("pbs", "4712.server", None), ["other_job"]),
        ("slurm", None, ["other_job"]),
    ],
)
def test_a_run_of_another_job_is_refused(log, scheduler, job, refused):
    assert keys(with_provenance(log, job=job), replace(PLACE, scheduler=scheduler)) == refused


@pytest.mark.parametrize(
    ("files", "refused"),
    [
        ([Files(3, [PROGRAM, LIBRARY], [])], []),
        ([Files(3, [File("program", "/opt/bin/b_eff", None)], [])], ["no_hashes"]),
        ([Files(3, [LIBRARY], [])], ["no_hashes"]),
        ([Files(3, [PROGRAM, File("input", "hints.cfg", None)], [])], ["no_hashes"]),
        ([Files(3, [PROGRAM], [OtherFile("node01", "/lib/libmpi.so")])], ["other_files"]),
    ],
)
def test_a_run_of_unknown_programs_is_refused(log, files, refused):
    assert keys(with_record(log, Files, *files)) == refused


@pytest.mark.parametrize("variable", ["LD_PRELOAD", "LD_AUDIT"])
def test_a_run_with_preloaded_libraries_is_refused(log, variable):
    assert keys(with_run(log, environment={variable: "/tmp/faster.so"})) == ["preloaded"]
    assert keys(with_run(log, environment={variable: ""})) == []


@pytest.mark.parametrize(("paths", "refused"), [([], []), (["/tmp/faster.so"], ["preloaded"])])
def test_a_run_with_libraries_that_no_variable_names_is_refused(log, paths, refused):
    assert keys(with_provenance(log, preloaded=paths)) == refused


# --- real kernels -----------------------------------------------------------------------------------------------------

SLOW_CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const int status = real(clock, now);
    const long long scaled = (now->tv_sec * 1000000000LL + now->tv_nsec) / 3;
    now->tv_sec = scaled / 1000000000;
    now->tv_nsec = scaled % 1000000000;
    return status;
}
"""
# MPI's clock runs at a third of its speed, and nothing else: all bandwidths are three times as high. The environment
# does not show how the library came into the process.
SLOW_MPI = """
#include <stdlib.h>
double PMPI_Wtime(void);
double MPI_Wtime(void) { return PMPI_Wtime() / 3; }
__attribute__((constructor)) static void hide(void) { unsetenv("LD_PRELOAD"); }
"""
BRIEF = ("b_eff_io", "--memory-per-process", "32MiB", "--types", "scatter,shared,separate", "--scheduled-time", "0.5")
IO = (*BRIEF[:-1], "2")  # so long that a clock at a third of its speed loses more than the 2 s that are allowed
SHORT = ("--memory-per-process", "1MiB", "--patterns", "ring,random,ping_pong")


def library_of(folder, text):
    (folder / "library.c").write_text(text)
    library = folder / "library.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, folder / "library.c", "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def slow_clock(tmp_path_factory):
    """A library that shows a third of the time that has passed."""
    return library_of(tmp_path_factory.mktemp("slow_clock"), SLOW_CLOCK)


@pytest.fixture(scope="module")
def slow_mpi(tmp_path_factory):
    return library_of(tmp_path_factory.mktemp("slow_mpi"), SLOW_MPI)


def place_of(log):
    """The job of a log that just ended."""
    hosts = tuple(host.name for host in log.run.hosts)
    return replace(PLACE, hosts=hosts, begin=time.time() - PATIENCE, end=time.time())


def test_a_real_run_states_where_it_comes_from(openmpi, tmp_path):
    hints = tmp_path / "hints.cfg"
    hints.write_text('hints = ( { set = { cb_nodes = "1"; }; } );\n')
    done = replace(openmpi, patience=None).run(  # the log names preloaded libraries
        2,
        "b_eff_io",
        *("--log", tmp_path / "log.jsonl", "--directory", tmp_path, "--hints", hints, "--partitions", "2"),
        *("--scheduled-time", "1", "--memory-per-process", "64MiB", "--cache-size", "1MiB"),
        env={NONCE: FREE, "PBS_JOBID": "12.server", "PBS_NODEFILE": hosts_of(tmp_path, "a\na\nb\n")},
    )
    assert done.returncode == 0, done.stderr
    [stated] = of_kind(tmp_path / "log.jsonl", "run")
    job = {"scheduler": "pbs", "id": "12.server", "nodes": "a,b"}
    who = {"nonce": FREE, "user": getpass.getuser(), "job": job}
    assert stated["provenance"] == who | {"preloaded": []}
    [files] = of_kind(tmp_path / "log.jsonl", "files")
    by_role = {
        role: {file["path"]: file["sha256"] for file in files["files"] if file["role"] == role}
        for role in ("program", "library", "input")
    }
    assert by_role["program"] == {str(openmpi.bin / "b_eff_io"): sha256(openmpi.bin / "b_eff_io")}
    assert by_role["input"] == {str(hints): sha256(hints)}
    assert all(hash_ == sha256(path) for path, hash_ in by_role["library"].items())
    linked = subprocess.run(["ldd", openmpi.bin / "b_eff_io"], capture_output=True, text=True, check=True).stdout
    needed = {str(Path(path).resolve()) for path in re.findall(r" => (/\S+)", linked)}
    assert needed and needed <= {str(Path(path).resolve()) for path in by_role["library"]}
    assert files["other_files"] == []
    assert re.findall(r"SHA-256 of the log .*: (\w+)", done.stdout) == [sha256(tmp_path / "log.jsonl")]


def hosts_of(folder, text):
    (folder / "nodes").write_text(text)
    return folder / "nodes"


def test_the_hash_of_the_sources_is_that_of_the_documented_command(openmpi, tmp_path):
    short = ("--time-budget", "1", "--patterns", "ping_pong", "--memory-per-process", "1MiB")
    done = openmpi.run(2, "b_eff", "--log", tmp_path / "log.jsonl", *short)
    assert done.returncode == 0, done.stderr
    [command] = re.findall(r"^    (git ls-files .*sha256sum)$", (ROOT / "docs" / "log.md").read_text(), re.MULTILINE)
    command = command.replace("ls-files", "ls-files --cached --others --exclude-standard")
    printed = run(["bash", "-c", command], cwd=ROOT / "kernels", check=True).stdout
    assert of_kind(tmp_path / "log.jsonl", "run")[0]["build"]["source_sha256"] == printed.split()[0]


def test_a_kernel_whose_clock_is_slow_is_refused(openmpi, slow_clock, tmp_path):
    """Its times are a third of the true ones, so its bandwidths are three times as high."""
    settings = {"LD_PRELOAD": slow_clock, NONCE: FREE}
    done = openmpi.run(2, *IO, "--log", tmp_path / "log.jsonl", "--directory", tmp_path, env=settings)
    assert done.returncode == 0, done.stderr
    slow = read_log(tmp_path / "log.jsonl")  # a score needs a machine that is not busy
    assert keys(slow, place_of(slow)) == ["clock", "clock", "preloaded"]  # the log's and MPI's


def log_of(mpi, words, folder):
    """The log that a command of mpirun leaves."""
    command = [mpi.mpirun, *words]
    done = subprocess.run(command, env=mpi.environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    return read_log(folder / "log.jsonl")


def by_variable(library, kernel):
    return ["env", f"LD_PRELOAD={library}", kernel]


def by_loader(library, kernel):
    """The dynamic loader as a program; the process has no variable."""
    header = subprocess.run(["readelf", "-l", kernel], capture_output=True, text=True, check=True).stdout
    return [re.search(r"interpreter: (\S+)\]", header)[1], "--preload", library, kernel]


def by_file(library, kernel):
    """/etc/ld.so.preload, for this process only."""
    if os.geteuid() != 0:
        pytest.skip("only root can have an /etc/ld.so.preload for one process")
    etc = f"{Path(library).parent}/etc-$$"  # of each process: two mounts must not share it
    mount = (
        f"mkdir -p {etc}/upper {etc}/work && echo {library} > {etc}/upper/ld.so.preload && "
        f"mount -t overlay overlay -o lowerdir=/etc,upperdir={etc}/upper,workdir={etc}/work /etc"
    )
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no overlay of /etc on this machine: {tried.stderr.strip()}")
    return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", kernel]


@pytest.mark.parametrize("preload", [by_variable, by_loader, by_file])
def test_a_library_that_changes_mpis_clock_is_refused_however_it_was_preloaded(openmpi, slow_mpi, tmp_path, preload):
    kernel = [*preload(slow_mpi, openmpi.bin / "b_eff_io"), *BRIEF[1:], "--log", tmp_path / "log.jsonl"]
    slow = log_of(openmpi, ["-n", "2", "env", f"{NONCE}={FREE}", *kernel, "--directory", tmp_path], tmp_path)
    assert "LD_PRELOAD" not in slow.run.environment
    assert slow.run.provenance.preloaded == [str(slow_mpi)]
    assert keys(slow, place_of(slow)) == ["clock", "preloaded"]


def test_another_library_on_one_of_the_nodes_is_refused(openmpi, slow_clock, tmp_path):
    """Two nodes: the kernel takes a node's name from Slurm. The second one preloads a library."""
    kernel = [openmpi.bin / IO[0], *IO[1:], "--log", tmp_path / "log.jsonl", "--directory", tmp_path]
    words = ["-n", "1", "env", f"{NONCE}={FREE}", "SLURMD_NODENAME=one", *kernel]
    words += [":", "-n", "1", "env", "SLURMD_NODENAME=two", f"LD_PRELOAD={slow_clock}", *kernel]
    mixed = log_of(openmpi, words, tmp_path)
    assert [(other.host, other.path) for other in mixed.only(Files).other_files] == [("two", str(slow_clock))]
    assert "other_files" in keys(mixed, place_of(mixed))


def test_a_log_that_was_edited_before_the_session_recorded_it_fails_the_test(openmpi, reframe, kernel_that):
    edit = """sed -i '1s/"compiler":"/"compiler":"better /' ftio.jsonl"""
    script = f'{openmpi.bin}/ftio "$@" || exit\n[ "$OMPI_COMM_WORLD_RANK" != 0 ] || {edit}'
    options = kernel_that(script, "all", name="ftio")
    short = ("-S", "ftio.input_parameter=1MiB", "-S", "ftio.repetitions=1")
    session = reframe("-r", "-n", "^ftio%.*num_processes=2", *options, *short)
    [case] = session.cases
    assert (case["result"], case["log_sha256"]) == ("fail", "")
    assert "ftio.jsonl is not what the kernel wrote: its SHA-256 is " in case["fail_reason"]
