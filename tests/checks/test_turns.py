# SPDX-License-Identifier: Apache-2.0
"""I/O checks on one file system never run at the same time, those on two file systems may.

With a real Slurm, its accounting states when jobs ran. PBS and LSF cannot be installed here: commands that stand in for
theirs keep every job running until all are submitted, and the job scripts show which job waits for which.
"""

import re
from datetime import datetime
from itertools import pairwise

import pytest
import slurm_made
from builds import OPEN_MPI, PATIENCE, executable
from check_runs import configuration, prebuilt
from conftest import Reframe
from file_systems import memory
from kernel_runs import wait_until

CHECKS = ("b_eff_io", "ftio", "priomark")


@pytest.fixture
def kernels(tmp_path):
    """Options for kernels of shell that take so many seconds and leave no log: their checks fail afterwards."""

    def make(seconds):
        for name in CHECKS:
            executable(tmp_path / "bin" / name, f'[ "$1" = --version ] || sleep {seconds}')
        return ["-r", "-n", "_io|ftio|priomark", *prebuilt(tmp_path / "bin")]

    return make


def settings(folder, scheduler, directories, names=("p",), access=(), variables=()):
    systems = [{"name": name, "directory": str(directory)} for name, directory in directories.items()]
    common = {"scheduler": scheduler, "launcher": "mpirun", "access": list(access), "max_jobs": 20}
    common |= {"env_vars": list(variables), "resources": [{"name": "whole_nodes", "options": []}]}
    common |= {"extras": {"cores_per_node": 2, "num_nodes": 1, "file_systems": systems}}
    return configuration(folder, *(common | {"name": name} for name in names))


def scripts(folder):
    """(check, file system, job script) of every job, by the job's number."""
    return {
        int(path.read_text()): (path.parent.name.rpartition("_")[0], (path.parent / "rfm_job.sh").read_text())
        for path in folder.glob("stage/made/*/mpi/*/number")
    }


SUBMIT = """# Numbers a job; for LSF, the script is the standard input.
touch {folder}/jobs; echo >> {folder}/jobs; number=$(wc -l < {folder}/jobs); echo $number > number
touch rfm_job.out rfm_job.err
"""
STANDING_IN = {
    "pbs": {
        "qsub": SUBMIT + "echo $number.server",
        "qstat": """[ $(wc -l < {folder}/jobs) -ge {jobs} ] && exit 153
for job in "$@"; do case $job in -*) ;; *) printf 'Job Id: %s\\n    job_state = R\\n\\n' $job;; esac; done
""",
    },
    "lsf": {
        "bsub": SUBMIT + 'echo "Job <$number> is submitted to queue <normal>."',
        "bjobs": """state=RUN; [ $(wc -l < {folder}/jobs) -ge {jobs} ] && state=DONE
for job in "$@"; do case $job in *[!0-9]*) ;; *) echo "$job me $state normal";; esac; done
""",
    },
}
WAITS = {"pbs": r"^#PBS -W depend=afterany:(\S+)$", "lsf": r'^#BSUB -w "(.+)"$'}


@pytest.mark.parametrize("scheduler", STANDING_IN)
def test_job_scripts_of_pbs_and_lsf_wait_for_the_jobs_on_the_same_file_system(scheduler, tmp_path, kernels):
    """On two partitions with the same two file systems, one of which has a second name."""
    (tmp_path / "scratch").mkdir()
    directories = {"scratch": tmp_path / "scratch", "again": tmp_path / "scratch", "far": "/not/on/this/machine"}
    jobs = len(CHECKS) * len(directories) * 2
    for name, text in STANDING_IN[scheduler].items():
        executable(tmp_path / name, text.format(folder=tmp_path, jobs=jobs))
    reframe = Reframe(tmp_path)
    path = f"{tmp_path}:{reframe.environment()['PATH']}"
    config = settings(tmp_path, scheduler, directories, names=("p", "q"))
    session = reframe(*kernels(0), config=config, env={"PATH": path})
    found = scripts(tmp_path)
    assert sorted(found) == list(range(1, jobs + 1)), session.output
    for number, (_, script) in found.items():
        far = "/not/on/this/machine" in script
        earlier = {other for other in found if other < number and ("/not/on/this/machine" in found[other][1]) == far}
        line = re.search(WAITS[scheduler], script, re.MULTILINE)
        assert {int(job) for job in re.findall(r"\d+", line[1])} == earlier if line else not earlier, script


def test_jobs_on_one_file_system_do_not_overlap_in_slurms_accounting(tmp_path, tmp_path_factory, kernels):
    """Three nodes are free for three checks on each of two file systems. Asynchronously submitted, each waits for those
    on its file system, and for no other."""
    if reason := slurm_made.missing(accounting=True):
        pytest.skip(reason)
    directories = {name: tmp_path / name for name in ("scratch", "home")}
    directories["scratch"].mkdir()
    with (
        memory(directories["home"], "size=1g"),
        slurm_made.slurm(tmp_path_factory.mktemp("accounting"), nodes=3, cores=2, accounting=True) as slurm,
    ):
        variables = [[name, value] for name, value in (OPEN_MPI | slurm.environment).items()]
        config = settings(tmp_path, "slurm", directories, access=["--partition=debug"], variables=variables)
        session = Reframe(tmp_path)(*kernels(3), config=config, env=slurm.environment, timeout=2 * PATIENCE)
        submitted = [case for case in session.cases if case["jobid"]]  # others depend on these and run nothing
        jobs = {case["jobid"]: case["file_system"] for case in submitted}
        assert len(jobs) == 6, session.output
        command = ["sacct", "--noheader", "--parsable2", "--allocations", "--format=JobID,Start,End"]
        wait_until(lambda: "Unknown" not in slurm(*command), "all jobs have ended")
        rows = (line.split("|") for line in slurm(*command).splitlines())
        times = {job: [*map(datetime.fromisoformat, start_end)] for job, *start_end in rows if job in jobs}
    assert times.keys() == jobs.keys()
    for name in directories:
        ordered = sorted(times[job] for job in jobs if jobs[job] == name)
        assert len(ordered) == 3
        assert all(end <= start for (_, end), (start, _) in pairwise(ordered)), ordered
    waiting = {
        case["jobid"]: re.findall(r"^#SBATCH --dependency=afterany:(\S+)$", script_of(tmp_path, case), re.MULTILINE)
        for case in submitted
    }
    for job, lines in waiting.items():
        before = {other for other in jobs if jobs[other] == jobs[job] and int(other) < int(job)}
        assert (set(lines[0].split(":")) if lines else set()) <= before
        assert bool(lines) == bool(before)


def script_of(folder, case):
    [script] = (folder / "stage").glob(f"made/*/mpi/*_{case['hashcode']}/rfm_job.sh")
    return script.read_text()
