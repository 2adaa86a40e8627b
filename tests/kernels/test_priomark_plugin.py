# SPDX-License-Identifier: Apache-2.0
"""Sub-benchmarks of PRIOMark from outside the tree, built from the installed header alone; one whose input and output
is a sleep shows what ACL and ABL say."""

import shutil
import statistics
from pathlib import Path

import pytest
from builds import compiled
from kernel_runs import error, good
from priomark_runs import leftovers, run
from rates import FOR_MEDIAN
from raw_log import read_log

from coffeecup.postprocess.reports import page as report

SOURCE = Path(__file__).parent / "plugins" / "priomark_beside.c"
SMALLEST = """
#include <priomark.h>
static const struct priomark_key keys[] = {{0}};
static void plan(struct priomark *run) { (void)run; }
static void measure(struct priomark *run, const struct priomark_case *now) { (void)run, (void)now; }
const struct priomark_plugin priomark_plugin = {INTERFACE, NAME, "does nothing", keys, plan, measure};
"""


STRICT = ["-D_POSIX_C_SOURCE=200809L", "-Wpedantic", "-shared", "-fPIC"]


def build(openmpi, folder, name, source, *flags):
    """As the header says, with nothing but the installed header; the source lies where no other header is."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.c").write_text(source)
    header = folder / "include" / "priomark.h"
    header.parent.mkdir(exist_ok=True)
    shutil.copy(openmpi.bin.parent / "include" / "priomark.h", header)
    flags = ["-std=c11", *STRICT, *flags, f"-I{header.parent}"]
    compiled(folder / f"priomark_{name}.so", folder / f"{name}.c", flags=flags)


@pytest.fixture
def beside(openmpi, tmp_path):
    build(openmpi, tmp_path / "plugins", "beside", SOURCE.read_text())
    return tmp_path / "plugins"


def test_plugin_may_be_written_in_cplusplus(openmpi, tmp_path):
    """The smallest one of the tree's own test, as C++ and under C++'s rules."""
    source = """#include <priomark.h>
static const struct priomark_key keys[] = {{nullptr, PRIOMARK_FLAG, nullptr, nullptr, 0, 0, nullptr}};
static void plan(struct priomark *run) { priomark_refuse(run, nullptr, "%s", "nothing to do"); }
static void measure(struct priomark *run, const struct priomark_case *) { priomark_fail(run, "%s", "never called"); }
const struct priomark_plugin priomark_plugin = {PRIOMARK_INTERFACE, "plus", "in C++", keys, plan, measure};
"""
    (tmp_path / "plus.cc").write_text(source)
    flags = ["-std=c++11", *STRICT, f"-I{openmpi.bin.parent / 'include'}"]
    compiled(tmp_path / "priomark_plus.so", tmp_path / "plus.cc", flags=flags, compiler="g++")
    done = run(openmpi, tmp_path, "plus = { };", 1, f"--plugins {tmp_path}")
    assert done.returncode == 2 and error(done).endswith("plus: nothing to do")


def median_loss(v, what):
    both = zip(v[f"{what}_alone_seconds"], v[f"{what}_overlapped_seconds"])
    return statistics.median(1 - alone / beside for alone, beside in both)


def losses(log, repetitions):
    """{percent that blocks: (ACL, ABL)}: medians over repetitions and processes, by the definition of the
    specification."""
    found = {}
    for m in log.records["measurement"]:
        v = m["values"]
        found.setdefault(v["blocked_percent"][0], []).append((median_loss(v, "calculation"), median_loss(v, "io")))
    assert {len(both) for both in found.values()} == {repetitions}
    return {percent: tuple(statistics.median(values) for values in zip(*both)) for percent, both in found.items()}


@pytest.mark.rate
def test_plugin_from_outside_is_loaded_by_name_and_reaches_the_report(openmpi, beside, tmp_path):
    workload = f"repetitions = {FOR_MEDIAN}; beside = {{ blocked_percent = [0, 50, 100]; }};"
    good(run(openmpi, tmp_path, workload, 1, f"--plugins {beside}"))
    log = read_log(tmp_path / "log.jsonl")
    assert log.plan["benchmarks"] == [
        {"name": "beside", "summary": "a sleep beside a calculation", "plugin": str(beside / "priomark_beside.so")}
    ]
    fields = ("benchmark", "pattern", "method", "read_calls", "read_bytes")
    measured = {tuple(m[name] for name in fields) for m in log.records["measurement"]}
    assert measured == {("beside", "sleep", "nanosleep", 1, 2**20)}
    found = losses(log, FOR_MEDIAN)
    page = report.html(report.items([tmp_path / "log.jsonl"]))
    assert "beside sleep nanosleep" in page and "a sleep beside a calculation" in page
    # A calculation of c and a transfer of t seconds of which b block: ACL = b / (b + c), where c is at least 1.25 t;
    # ABL stays 0. The sleep shares nothing with the calculation but what others do on this machine: five medians, see
    # rates.py.
    assert abs(found[0][0]) < 0.15 and all(abs(abl) < 0.15 for _, abl in found.values())
    assert found[0][0] < found[50][0] < found[100][0] and found[100][0] > 0.2


@pytest.mark.parametrize(
    "workload, line, said",
    [
        ("\nbeside = { seconds = 1; };", 2, "beside has no key 'seconds'; valid are milliseconds, blocked_percent"),
        ("\n\nbeside = { milliseconds = 0; };", 3, "milliseconds must be a whole number from 1 to 10000"),
        ("other = { };", 1, "no such file"),
        ("besides-this = { };", 1, "neither a key"),
    ],
)
def test_workload_of_a_plugin_is_checked_like_others(openmpi, beside, tmp_path, workload, line, said):
    done = run(openmpi.impatient, tmp_path, workload, 2, f"--plugins {beside}")
    assert done.returncode == 2 and f"workload.cfg:{line}: " in error(done) and said in error(done)
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize(
    "interface, name, said",
    [
        ("2", '"small"', "built for interface 2 of priomark.h, this program has 1; rebuild it"),
        ("1", '"big"', "its table has another name"),
        ("1", "0", "its table lacks a name"),
        ("1", '"small"', "no case to measure"),
    ],
)
def test_plugin_that_does_not_fit_is_refused(openmpi, tmp_path, interface, name, said):
    build(openmpi, tmp_path / "plugins", "small", SMALLEST, f"-DINTERFACE={interface}", f"-DNAME={name}")
    done = run(openmpi.impatient, tmp_path, "small = { };", 2, "--plugins", tmp_path / "plugins")
    assert done.returncode == 2 and said in error(done)
    assert leftovers(tmp_path) == []


def test_shared_object_that_is_none_is_refused(openmpi, tmp_path):
    (tmp_path / "priomark_broken.so").write_text("not a shared object")
    done = run(openmpi, tmp_path, "broken = { };", 1, f"--plugins {tmp_path}")
    assert done.returncode == 2 and "cannot load" in error(done)
