# SPDX-License-Identifier: Apache-2.0
"""A verdict on a hang names the cause with the strongest proof, and nobody where there is none."""

import pytest

from coffeecup.postprocess.logs.hangs import verdict
from coffeecup.postprocess.logs.records import HungFile, HungProcess

PLACE = "pattern ring-1, loop 7"


def processes(steps, **states):
    """Two a node; the states by rank, as r0="stopped"."""
    return [
        HungProcess(
            rank=rank,
            host=f"n{rank // 2}",
            process=rank + 100,
            state=states.get(f"r{rank}", "running"),
            kernel_function=None,
            steps=count,
            place=PLACE,
            file=None,
        )
        for rank, count in enumerate(steps)
    ]


@pytest.mark.parametrize(
    "found, says",
    [
        (processes([15] * 6, r3="stopped"), f"rank 3 on n1 is stopped ({PLACE})"),
        (processes([15] * 6, r0="gone", r5="zombie"), f"rank 0 on n0 is gone, rank 5 on n2 is zombie ({PLACE})"),
        (processes([15, 16, 16, 16, 15, 16], r3="traced"), f"rank 3 on n1 is traced ({PLACE})"),
        (processes([16, 15, 16, 16]), f"rank 1 on n0 has not ended a loop that all others have ended ({PLACE})"),
        (processes([16, 15, 16, 16, 15, 16]), f"rank 1 on n0 and rank 4 on n2 wait for each other ({PLACE})"),
        (processes([16, 15, 15, 15]), f"cannot tell the cause: 3 of 4 processes are in a loop ({PLACE})"),
        (processes([15, 15, 15, 15]), f"cannot tell the cause: all processes wait ({PLACE})"),
        (processes([16, 16, 14, 14]), f"cannot tell the cause: all processes wait ({PLACE})"),
        ([], "the log has no process of it: cannot tell which one is the cause"),
    ],
)
def test_the_cause_with_the_strongest_proof_is_named(found, says):
    assert verdict(found) == says


def test_a_node_all_of_whose_processes_are_late_is_named():
    late = [*processes([16] * 6), *[each for each in processes([15] * 9) if each.rank in (6, 7, 8)]]
    for each in late[6:]:
        each.host = "n9"
    assert verdict(late) == f"all processes of n9 are in a loop that those of other nodes have ended ({PLACE})"


def test_no_more_than_four_processes_are_named():
    assert "rank 3 on n1 is gone and 2 more (" in verdict(
        processes([1] * 6, **{f"r{rank}": "gone" for rank in range(6)})
    )


@pytest.mark.parametrize(
    "state, function, waits",
    [
        ("in the kernel", None, True),  # its function is not readable for every user
        ("in the kernel", "percpu_rwsem_wait", True),
        ("sleeping", "request_wait_answer", True),  # of a FUSE server
        ("sleeping", "do_sys_poll", False),  # for other processes
        ("sleeping", "hrtimer_nanosleep", False),
        ("sleeping", None, False),
        ("running", None, False),
    ],
)
@pytest.mark.parametrize("steps", [15, 16])  # only a process within a loop accesses its file
def test_a_process_that_waits_in_the_kernel_for_its_file_is_named_with_file_and_server(state, function, waits, steps):
    found = processes([steps] * 4, r2=state)
    for process in found:
        process.file = HungFile(path=f"/d/{process.rank}", type="fuse.glusterfs", source="s:/v", calls=3, offset=None)
    found[2].kernel_function = function
    named = f"rank 2 on n1 waits for /d/2 on fuse.glusterfs s:/v ({PLACE})"
    assert (verdict(found) == named) == (waits and steps % 2 == 1)
