# SPDX-License-Identifier: Apache-2.0
"""The checks b_eff_load and b_eff_io_load: where they run, with which options of the kernel, and which metrics they
require."""

import pprint
import re

import logs_made
import pytest
from conftest import CHECKS, WHO
from mutator import kernel_log

from coffeecup.postprocess.benchmarks.registry import benchmarks

SLURM = {
    "scheduler": "slurm",
    "launcher": "srun",
    "environs": ["mpi"],
    "extras": {"num_nodes": 8, "cores_per_node": 64},
}
ROOT = ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"]
LOCAL = {
    "scheduler": "local",
    "launcher": "local",
    "environs": ["mpi"],
    "env_vars": [[name, "1"] for name in ROOT],
    "features": ["load"],
}
# ReFrame instantiates every check of a file that it loads.
FILES = {"b_eff_load": CHECKS / "b_eff_load.py", "b_eff_io_load": CHECKS / "b_eff_io_load.py"}
FILE_SYSTEMS = [{"name": "scratch", "directory": "/scratch/me"}, {"name": "home", "directory": "/home/me"}]


def site(folder, *partitions):
    settings = {
        "systems": [{"name": "made", "hostnames": [".*"], "partitions": list(partitions)}],
        "environments": [{"name": "mpi", "features": ["mpi"], "cc": "mpicc"}],
    }
    path = folder / "settings.py"
    path.write_text(f"site_configuration = {pprint.pformat(settings)}\n")
    return path


def batch(name, features=(), **extras):
    return SLURM | {"name": name, "features": [*features], "extras": SLURM["extras"] | extras}


@pytest.fixture
def config(tmp_path):
    """A partition that may not be loaded, one that may, and one that names file systems besides."""
    return site(
        tmp_path, batch("quiet"), batch("loaded", ["load"]), batch("disks", ["load"], file_systems=FILE_SYSTEMS)
    )


def scripts(reframe, check, partition):
    texts = (reframe.folder / "stage" / "made" / partition).glob(f"mpi/{check}_*/rfm_job.sh")
    return [path.read_text() for path in texts]


def processes(texts):
    return sorted(int(text.split("--ntasks=")[1].split()[0]) for text in texts)


def test_load_is_generated_only_where_the_site_allows_it_and_on_four_nodes_or_more(reframe, config):
    options = ["-S", "b_eff_load.load=incast", "-S", "b_eff_load.victims=60%"]
    session = reframe(
        "--dry-run", "--warn-as-error", "-n", "b_eff_load", *options, config=config, checks=FILES["b_eff_load"]
    )
    assert session.returncode == 0, session.output
    texts = scripts(reframe, "b_eff_load", "loaded")
    assert not scripts(reframe, "b_eff_load", "quiet")
    assert processes(texts) == [256, 512], texts
    assert all("--kinds incast --victims 60%" in text and "--directory" not in text for text in texts)
    assert processes(scripts(reframe, "b_eff_load", "disks")) == [256, 256, 512, 512]


def test_io_is_measured_on_each_file_system_and_left_out_where_there_is_none(reframe, config):
    session = reframe("--dry-run", "-n", "b_eff_load", config=config, checks=FILES["b_eff_load"])
    assert session.returncode == 0, session.output
    for text in scripts(reframe, "b_eff_load", "loaded"):
        assert "--kinds incast,alltoall,broadcast" in text and "--directory" not in text and ",io" not in text
    assert "partition 'made:loaded' names no file system, so the load io is not measured there" in session.output
    assert "partition 'made:disks' names no file system" not in session.output
    texts = scripts(reframe, "b_eff_load", "disks")
    for entry in FILE_SYSTEMS:
        words = f"--directory {entry['directory']} --kinds incast,alltoall,broadcast,io"
        assert sum(words in text for text in texts) == 2, texts


@pytest.mark.parametrize("option", ["load=io", "directory=/given/here"])
def test_io_that_is_requested_is_measured_in_any_case(reframe, config, option):
    session = reframe(
        "--dry-run", "-n", "b_eff_load", "-S", f"b_eff_load.{option}", config=config, checks=FILES["b_eff_load"]
    )
    assert session.returncode == 0, session.output
    texts = scripts(reframe, "b_eff_load", "loaded")
    assert len(texts) == 2 and all("--directory" in text and "io" in text.split("--kinds ")[1] for text in texts)


def test_load_on_a_file_system_is_measured_on_two_nodes_or_more(reframe, config):
    options = ["-S", "b_eff_io_load.victims=25%", "-S", "b_eff_io_load.scheduled_time=60"]
    session = reframe(
        "--dry-run", "--warn-as-error", "-n", "b_eff_io_load", *options, config=config, checks=FILES["b_eff_io_load"]
    )
    assert session.returncode == 0, session.output
    assert not scripts(reframe, "b_eff_io_load", "quiet")
    texts = scripts(reframe, "b_eff_io_load", "loaded")
    assert processes(texts) == [128, 256, 512]
    for text in texts:
        assert "--scheduled-time 60.0" in text and "--kinds read,write --victims 25%" in text
    assert processes(scripts(reframe, "b_eff_io_load", "disks")) == [128, 128, 256, 256, 512, 512]


CASES = [("b_eff_load", "incast,broadcast"), ("b_eff_io_load", "read,write")]
RANKS = 6


@pytest.fixture
def run(reframe, tmp_path):
    """A function of a benchmark: the session of its check with a kernel of a few lines that leaves a recorded log."""

    def started(benchmark, load):
        log = logs_made.write(tmp_path / "made.jsonl", kernel_log(benchmark))
        folder = tmp_path / "bin"
        folder.mkdir()
        script = folder / benchmark
        script.write_text(
            f'#!/bin/bash\n[ "$1" = --version ] && exit\n{WHO["first"]}\ncp {log} "$2"\n'
            'echo "SHA-256 of the log $2: $(sha256sum "$2" | cut -d" " -f1)"\n'
        )
        script.chmod(0o755)
        extras = {"num_nodes": RANKS, "cores_per_node": 1, "sizes": [RANKS]}
        words = [
            "-r",
            "-S",
            "builder=prebuilt",
            "-S",
            f"prebuilt_directory={folder}",
            "-n",
            f"{benchmark}.*processes={RANKS}",
        ]
        config = site(tmp_path, LOCAL | {"name": "nodes", "extras": extras})
        return reframe(*words, "-S", f"{benchmark}.load={load}", config=config, checks=FILES[benchmark])

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
