# SPDX-License-Identifier: Apache-2.0
"""The checks b_eff_load and b_eff_io_load: where they run, with which options of the kernel, and which metrics they
require."""

import re

import pytest
from builds import OPEN_MPI
from check_runs import configuration, values
from conftest import CHECKS
from mutator import kernel_log

from coffeecup.postprocess.benchmarks.registry import benchmarks

SLURM = {"scheduler": "slurm", "launcher": "srun"}
LOCAL = {"env_vars": [list(variable) for variable in OPEN_MPI.items()], "features": ["load"]}
# ReFrame instantiates every check of a file that it loads.
FILES = {"b_eff_load": CHECKS / "b_eff_load.py", "b_eff_io_load": CHECKS / "b_eff_io_load.py"}
FILE_SYSTEMS = [{"name": "scratch", "directory": "/scratch/me"}, {"name": "home", "directory": "/home/me"}]


@pytest.fixture
def config(tmp_path):
    """A partition that may not be loaded, one that may, and one that names file systems besides."""

    def batch(name, features=(), **extras):
        facts = {"num_nodes": 8, "cores_per_node": 64}
        return SLURM | {"name": name, "features": [*features], "extras": facts | extras}

    disks = batch("disks", ["load"], file_systems=FILE_SYSTEMS)
    return configuration(tmp_path, batch("quiet"), batch("loaded", ["load"]), disks)


@pytest.fixture
def dry_run(reframe, config):
    """A dry run of a check with values of its variables, and a function of a partition: its job scripts."""

    def run(check, *chosen, strict=("--warn-as-error",)):
        chosen = values(*(f"{check}.{value}" for value in chosen))
        session = reframe("--dry-run", *strict, "-n", check, *chosen, config=config, checks=FILES[check])
        assert session.returncode == 0, session.output
        return session, lambda partition: scripts(reframe, check, partition)

    return run


def scripts(reframe, check, partition):
    texts = (reframe.folder / "stage" / "made" / partition).glob(f"mpi/{check}_*/rfm_job.sh")
    return [path.read_text() for path in texts]


def processes(texts):
    return sorted(int(text.split("--ntasks=")[1].split()[0]) for text in texts)


def test_load_is_generated_only_where_the_site_allows_it_and_on_four_nodes_or_more(dry_run):
    _, on = dry_run("b_eff_load", "load=incast", "victims=60%")
    assert not on("quiet") and processes(on("loaded")) == [256, 512]
    assert all("--kinds incast --victims 60%" in text and "--directory" not in text for text in on("loaded"))
    assert processes(on("disks")) == [256, 256, 512, 512]


def test_io_is_measured_on_each_file_system_and_left_out_where_there_is_none(dry_run):
    session, on = dry_run("b_eff_load", strict=())
    for text in on("loaded"):
        assert "--kinds incast,alltoall,broadcast" in text and "--directory" not in text and ",io" not in text
    assert "partition 'made:loaded' names no file system, so the load io is not measured there" in session.output
    assert "partition 'made:disks' names no file system" not in session.output
    for entry in FILE_SYSTEMS:
        words = f"--directory {entry['directory']} --kinds incast,alltoall,broadcast,io"
        assert sum(words in text for text in on("disks")) == 2


@pytest.mark.parametrize("option", ["load=io", "directory=/given/here"])
def test_io_that_is_requested_is_measured_in_any_case(dry_run, option):
    _, on = dry_run("b_eff_load", option, strict=())
    texts = on("loaded")
    assert len(texts) == 2 and all("--directory" in text and "io" in text.split("--kinds ")[1] for text in texts)


def test_load_on_a_file_system_is_measured_on_two_nodes_or_more(dry_run):
    _, on = dry_run("b_eff_io_load", "victims=25%", "scheduled_time=60")
    assert not on("quiet") and processes(on("loaded")) == [128, 256, 512]
    for text in on("loaded"):
        assert "--scheduled-time 60.0" in text and "--kinds read,write --victims 25%" in text
    assert processes(on("disks")) == [128, 128, 256, 256, 512, 512]


CASES = [("b_eff_load", "incast,broadcast"), ("b_eff_io_load", "read,write")]
RANKS = 6


@pytest.fixture
def run(reframe, tmp_path, kernel_with):
    """A function of a benchmark: the session of its check with a kernel that leaves a recorded log."""

    def started(benchmark, load):
        kernel = kernel_with(kernel_log(benchmark), benchmark)
        words = [*kernel, "-n", f"{benchmark}.*processes={RANKS}", *values(f"{benchmark}.load={load}")]
        nodes = LOCAL | {"extras": {"num_nodes": RANKS, "cores_per_node": 1, "sizes": [RANKS]}}
        return reframe(*words, config=configuration(tmp_path, nodes), checks=FILES[benchmark])

    return started


@pytest.mark.parametrize(("benchmark", "load"), CASES)
def test_result_has_all_metrics_of_the_loads_and_no_others(run, benchmark, load):
    session = run(benchmark, load)
    assert session.returncode == 0, session.output
    [case] = session.cases
    of_load = re.compile(rf"_({load.replace(',', '|')})(_low|_high)?$")
    wanted = {metric.name for metric in benchmarks()[benchmark].every_metric if of_load.search(metric.name)}
    found = {name.rpartition(":")[2] for name in case["perfvalues"]}
    assert found == wanted and {f"load_bandwidth_{kind}" for kind in load.split(",")} < wanted


def test_load_that_the_log_lacks_fails(run):
    session = run("b_eff_load", "incast,alltoall,broadcast")
    assert session.returncode != 0
    assert "the score does not have the expected metrics" in session.output and "alltoall" in session.output
