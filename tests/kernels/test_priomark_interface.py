# SPDX-License-Identifier: Apache-2.0
"""Interfaces of PRIOMark from outside the tree, built from the installed header and skeleton alone; one whose transfers
sleep shows what ACL and ABL say."""

import json
import shutil
import statistics
from hashlib import sha256
from pathlib import Path

import pytest
from builds import SANITIZERS, compiled
from kernel_runs import error, good
from priomark_runs import leftovers, run
from rates import FOR_MEDIAN
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log

SOURCES = Path(__file__).parent / "interfaces"
STRICT = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wpedantic", "-shared", "-fPIC"]
LOADED = """
check = true;
common_file = { process_size = "64KiB"; block_size = "4KiB"; methods = ["posix", "spread"]; };
strided = { process_size = "96KiB"; block_size = "4KiB"; blocks_per_stride = 3; methods = ["spread"]; };
async = { process_size = "64KiB"; methods = ["spread", "posix-aio"]; };
single_file = { process_size = "64KiB"; block_size = "4KiB"; methods = ["spread", "posix"]; };
raw = { process_size = "64KiB"; block_size = "4KiB"; methods = ["spread"]; };
"""
OWN = {"single_file": 4, "raw": 2, "common_file": 3, "strided": 2, "async": 2}  # patterns of each


@pytest.fixture(scope="session")
def build(openmpi, tmp_path_factory):
    """Builds an interface as the header says, with nothing but what is installed."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copy(openmpi.bin.parent / "include" / "priomark_interface.h", folder)
    shutil.copy(openmpi.bin.parent / "share" / "priomark" / "skeleton.c", folder)

    def build(name, source=None, *flags, into=folder):
        source = source or folder / f"{name}.c"
        into.mkdir(exist_ok=True)
        return compiled(into / f"priomark_{name}.so", source, flags=[*STRICT, *flags, f"-I{folder}"])

    build.folder = folder
    return build


def test_interface_from_the_header_serves_every_sub_benchmark_with_sanitizers(openmpi_sanitized, build, tmp_path):
    """Every byte is checked by the kernel; the interface itself has sanitizers as well."""
    assert len((SOURCES / "spread.c").read_text().splitlines()) < 150
    build("spread", SOURCES / "spread.c", "-fsanitize=address,undefined", into=tmp_path / "own")
    good(run(openmpi_sanitized, tmp_path, LOADED, 2, "--interfaces", tmp_path / "own", env=SANITIZERS))
    log = read_log(tmp_path / "log.jsonl")
    own = [m for m in log.records["measurement"] if m["method"] == "spread"]
    assert {name: sum(m["benchmark"] == name for m in own) for name in OWN} == OWN
    assert all(m["direct"] for m in own)
    [loaded] = log.plan["interfaces"]
    object_ = tmp_path / "own" / "priomark_spread.so"
    assert (loaded["path"], loaded["sha256"]) == (str(object_), sha256(object_.read_bytes()).hexdigest())
    assert score_log(tmp_path / "log.jsonl").metrics["spread_rate"].unit == "operations/s"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("fault", ["lost", "wrong", "short"])
def test_interface_that_loses_or_changes_data_ends_the_run_and_leaves_nothing(openmpi, build, tmp_path, fault):
    """A write that does nothing after the first, one that changes a byte, and a file that lacks its last block."""
    source = (SOURCES / "spread.c").read_text()
    faults = {
        "lost": (
            "    const int64_t within = ",
            "    if (writes && offset)\n        return bytes;\n    const int64_t within = ",
        ),
        "wrong": ("    const ssize_t count =", "    if (writes)\n        data[8] ^= 1;\n    const ssize_t count ="),
        "short": ("return each_piece(file, COUNT);", "return each_piece(file, COUNT) - 1;"),
    }
    before, after = source.split(faults[fault][0])
    changed = tmp_path / "spread.c"
    changed.write_text(before + faults[fault][1] + after)
    build("spread", changed, into=tmp_path / "own")
    workload = 'check = true; single_file = { process_size = "64KiB"; methods = "spread"; patterns = "write"; };'
    done = run(openmpi.impatient, tmp_path, workload, 1, "--interfaces", tmp_path / "own")
    said = {"lost": "cannot read", "wrong": "were read wrong", "short": "is the disk full"}
    assert done.returncode == 1 and said[fault] in error(done)
    assert leftovers(tmp_path) == []


def test_interface_may_be_written_in_cplusplus_and_the_skeleton_works(openmpi, build, tmp_path):
    """The header under C++'s rules: a table of the skeleton's kind, whose open says that it is impossible."""
    source = """#include <priomark_interface.h>
static void open_file(priomark_file *file, bool) { priomark_stop(file, "open", "%s", "nobody can"); }
static void read_block(priomark_file *, char *, int64_t, int64_t) { }
static void write_block(priomark_file *, const char *, int64_t, int64_t) { }
static void nothing(priomark_file *) { }
const priomark_interface priomark_interface = {PRIOMARK_INTERFACE, "plus", "in C++", PRIOMARK_BANDWIDTH, false, false,
    false, false, open_file, read_block, write_block, nothing, nothing, nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, false};
"""
    (tmp_path / "plus.cc").write_text(source.replace("const priomark_interface p", "const struct priomark_interface p"))
    flags = ["-std=c++11", *STRICT[1:], f"-I{build.folder}"]
    compiled(tmp_path / "priomark_plus.so", tmp_path / "plus.cc", flags=flags, compiler="g++")
    build("skeleton", into=tmp_path)
    workload = 'single_file = { process_size = "64KiB"; methods = ["skeleton", "plus"]; patterns = "write"; };'
    done = run(openmpi.impatient, tmp_path, workload, 1, "--interfaces", tmp_path)
    assert done.returncode == 1 and "through plus: nobody can" in error(done) and "cannot open '" in error(done)
    records = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [record["method"] for record in records if record["record"] == "measurement"] == ["skeleton"]


def median_loss(v, what):
    both = zip(v[f"{what}_alone_seconds"], v[f"{what}_overlapped_seconds"])
    return statistics.median(1 - alone / beside for alone, beside in both)


def losses(log, repetitions):
    """{method: (ACL, ABL)}: medians over repetitions and processes, by the definition of the specification."""
    found = {}
    for m in log.records["measurement"]:
        both = median_loss(m["values"], "calculation"), median_loss(m["values"], "io")
        found.setdefault(m["method"], []).append(both)
    assert {len(both) for both in found.values()} == {repetitions}
    return {method: tuple(statistics.median(values) for values in zip(*both)) for method, both in found.items()}


@pytest.mark.rate
def test_transfers_that_sleep_show_what_acl_and_abl_say(openmpi, build, tmp_path):
    for percent in (0, 50, 100):
        build(f"sleep{percent}", SOURCES / "sleep.c", f"-DPERCENT={percent}")
    workload = f"""repetitions = {FOR_MEDIAN}; async = {{ process_size = "4KiB"; patterns = "read";
        methods = ["sleep0", "sleep50", "sleep100"]; }};"""
    good(run(openmpi, tmp_path, workload, 1, f"--interfaces {build.folder}"))
    log = read_log(tmp_path / "log.jsonl")
    assert {entry["properties"] for entry in log.plan["interfaces"]} == {"each transfer takes 40 ms"}
    found = losses(log, FOR_MEDIAN)
    # A calculation of c and a transfer of t seconds of which b block: ACL = b / (b + c), where c is at least 1.25 t;
    # ABL stays 0. The sleep shares nothing with the calculation but what others do on this machine: five medians, see
    # rates.py.
    assert abs(found["sleep0"][0]) < 0.15 and all(abs(abl) < 0.15 for _, abl in found.values())
    assert found["sleep0"][0] < found["sleep50"][0] < found["sleep100"][0] and found["sleep100"][0] > 0.2
    assert score_log(tmp_path / "log.jsonl").metrics["sleep100_latency"].value >= 40


SMALLEST = """
#include <priomark_interface.h>
static void open_file(struct priomark_file *file, bool create) { (void)file, (void)create; }
static void read_block(struct priomark_file *file, char *d, int64_t b, int64_t o) { (void)file, (void)d, (void)b, (void)o; }
static void write_block(struct priomark_file *file, const char *d, int64_t b, int64_t o) { (void)file, (void)d, (void)b, (void)o; }
static void nothing(struct priomark_file *file) { (void)file; }
static inline void stage(struct priomark_file *file, enum priomark_operation o, char *d, int64_t b) { (void)file, (void)o, (void)d, (void)b; }
static inline void start(struct priomark_file *file, enum priomark_operation o, char *d, int64_t b, int64_t at) { stage(file, o, d, b + at); }
static inline bool done(struct priomark_file *file) { return file; }
static const char *why_not(void) { return WHY_NOT; }
const struct priomark_interface priomark_interface = {.version = VERSION, .name = "small", .summary = "nothing",
    .open = open_file, .read = read_block, .write = write_block, .sync = SYNC, .close = nothing, .finish = FINISH,
    STAGED .why_not = why_not};
"""  # noqa: E501
STAGED = ".stage = stage, .start = start, .done = done,"
VALID = {"VERSION": "6", "SYNC": "nothing", "FINISH": "0", "STAGED": "", "WHY_NOT": "0"}


@pytest.mark.parametrize(
    "change, said",
    [
        ({"VERSION": "1"}, "built for version 1 of priomark_interface.h, this program has 6; rebuild it"),
        ({"SYNC": "0"}, "its table lacks a summary, open, read, write, sync or close"),
        ({"FINISH": "nothing"}, "only some of start, done and finish"),
        ({"STAGED": STAGED, "FINISH": "nothing"}, "stage and start, of which it can have only one"),
        ({"WHY_NOT": '"no device"'}, "cannot be used: no device"),
        ({"WHY_NOT": '""'}, "cannot be used: its why_not() states no reason"),
    ],
)
def test_interface_that_does_not_fit_is_refused(openmpi, build, tmp_path, change, said):
    (tmp_path / "small.c").write_text(SMALLEST)
    build(
        "small", tmp_path / "small.c", *(f"-D{name}={value}" for name, value in (VALID | change).items()), into=tmp_path
    )
    done = run(openmpi.impatient, tmp_path, '\nsingle_file = { methods = "small"; };', 2, "--interfaces", tmp_path)
    assert done.returncode == 2 and said in error(done) and "workload.cfg:2: methods: " in error(done)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "workload, said",
    [
        ('async = { methods = "skeleton"; };', "skeleton is no method of async: it has no start, done and finish"),
        ('single_file = { methods = "posix-direct"; };', "posix-direct is a method of the kernel; give the interface"),
        ('raw = { methods = ["device", "skeleton"]; };', "it does not bypass the page cache"),
        ('single_file = { methods = "explicit"; };', "'explicit' is not known; valid in this build are posix"),
        ('single_file = { methods = "other"; };', "priomark_other.so': no such file"),
        ('single_file = { methods = "broken"; };', "cannot load"),
        ('single_file = { methods = "truncated"; };', "the file is truncated; build or copy it again"),
        ('single_file = { methods = "../a"; };', "'../a' is not known"),
    ],
)
def test_method_that_does_not_exist_or_cannot_serve_is_refused_with_its_line(openmpi, build, tmp_path, workload, said):
    whole = build("skeleton", into=tmp_path).read_bytes()
    (tmp_path / "priomark_truncated.so").write_bytes(whole[: len(whole) // 2])
    for name in ("broken", "posix-direct"):
        (tmp_path / f"priomark_{name}.so").write_text("not a shared object")
    done = run(openmpi, tmp_path, "\n" + workload, 1, f"--interfaces {tmp_path}")
    assert done.returncode == 2 and "workload.cfg:2: " in error(done) and said in error(done)


def test_interfaces_are_loaded_only_where_an_option_says_so(openmpi, tmp_path):
    done = run(openmpi, tmp_path, 'single_file = { methods = "skeleton"; };', 1)
    assert done.returncode == 2 and "or interfaces in the directory of --interfaces" in error(done)
