# SPDX-License-Identifier: Apache-2.0
"""Variables of the environment that are not the same in all processes of a run."""

import pytest
from kernel_runs import good, run
from raw_log import read_log

from coffeecup.postprocess.benchmarks.scoring import score_log

CHANGE = """rank=${OMPI_COMM_WORLD_RANK-$PMI_RANK}
[ $rank = 1 ] && export UCX_OTHER=1
[ $rank = 2 ] && unset UCX_EVERYWHERE && export ASKED=2
exec "$@"
"""


@pytest.fixture
def logged(mpi, tmp_path):
    """`logged(*wrapper)` is the first record of a run of three processes below these words."""

    def run_record(*wrapper):
        log = tmp_path / "b_eff.jsonl"
        variables = {"UCX_EVERYWHERE": "yes", "ASKED": "1", "COFFEECUP_COMPARED": "ASKED"}
        few = "--patterns ring,random --methods sendrecv --random-patterns 1 --repetitions 1 --longest-loop 2"
        command = mpi.command(3, "b_eff", f"--memory-per-process 1MiB {few} --log {log}")
        command[3:3] = wrapper
        good(run(command, env=mpi.environment | variables))
        assert score_log(log).log.run.environment.items() >= variables.items()
        return read_log(log).run

    return run_record


def test_the_log_names_variables_that_are_not_those_of_all_processes(logged):
    first = logged("sh", "-c", CHANGE, "sh")
    assert sorted(first["environment_differs"]) == ["ASKED", "UCX_EVERYWHERE", "UCX_OTHER"]
    assert "UCX_OTHER" not in first["environment"]


def test_the_variables_of_the_launchers_are_the_same_in_all_processes(logged):
    assert "environment_differs" not in logged()
