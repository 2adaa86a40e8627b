# SPDX-License-Identifier: Apache-2.0
"""A verdict on a hang names the cause with the strongest proof, and nobody where there is none."""

import pytest

from coffeecup.postprocess.logs.hangs import verdict
from coffeecup.postprocess.logs.records import HungFile, HungProcess

PLACE = "pattern ring-1, loop 7"


def processes(steps, messages=(), sources=(), **states):
    """Two a node; the states by rank, as r0="stopped". `messages` counts those received, `sources` are those of which
    one is awaited."""
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
            messages=messages[rank] if messages else 0,
            receives_from=list(sources[rank]) if sources else [],
            adapters_lost=[],
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
        (
            processes([14, 15, 15], r0="in the kernel"),  # it writes the log while others wait for messages
            f"rank 0 on n0 waits in the kernel ({PLACE})",
        ),
        ([], "the log has no process of it: cannot tell which one is the cause"),
    ],
)
def test_the_cause_with_the_strongest_proof_is_named(found, says):
    assert verdict(found) == says


RING = [(3, 1), (0, 2), (1, 3), (2, 0)]  # of four: both messages of an exchange are awaited at once
FIRST_ONE = [(1,), (0,), (3,), (2,)]  # one after the other: the message of the partner in a pair


@pytest.mark.parametrize(
    "messages, sources, says",
    [
        # rank 1 misses one of the messages of exchange 3; the others have them and wait for those of exchange 4
        ([8, 6, 8, 10], RING, "rank 1 on n0 waits for a message from rank 0 on n0 or rank 2 on n1"),
        ([8, 6, 7, 8], [(3,), (2,), (1,), (0,)], "rank 1 on n0 waits for a message from rank 2 on n1"),
        ([6, 6, 9, 9], FIRST_ONE, "rank 0 on n0 and rank 1 on n0 wait for messages from each other"),
        # rank 2 alone is not yet where all processes wait for each other; so are both of one of two rings
        ([0, 0, 9, 0], [(), (), (0,), ()], "rank 2 on n1 waits for a message from rank 0 on n0"),
        ([0, 0, 8, 7], [(), (), (3,), (2,)], "rank 3 on n1 waits for a message from rank 2 on n1"),
        ([6, 6, 9, 9], RING, "cannot tell the cause: all processes wait"),  # two messages from the others may be lost
        ([9, 6, 6, 9], FIRST_ONE, "cannot tell the cause: all processes wait"),  # two that do not wait for each other
        (
            [9, 6, 9, 9],
            [(3, 1), (7, 2), (1, 3), (2, 0)],
            "rank 1 on n0 waits for a message from rank 2 on n1 or rank 7, of which nothing is known",
        ),
    ],
)
def test_the_ends_of_a_lost_message_are_named(messages, sources, says):
    assert verdict(processes([15] * 4, messages, sources)) == f"{says} ({PLACE})"


def test_a_process_that_has_not_begun_the_loop_of_all_others_is_named_and_not_one_that_waits():
    found = processes([13, 15, 15, 15], [0, 6, 8, 8], [(), *RING[1:]])
    assert verdict(found) == f"rank 0 on n0 has not ended a loop that all others have ended ({PLACE})"


def test_an_adapter_that_lost_its_link_is_named_with_the_message_that_it_should_have_carried():
    found = processes([15] * 4, [8, 6, 8, 8], RING)
    for process in found[2:]:
        process.adapters_lost = ["eth0", "ib0"]
    message = "rank 1 on n0 waits for a message from rank 2 on n1"
    assert verdict(found) == f"eth0 and ib0 of n1 lost the link, {message} ({PLACE})"
    found[1].messages = 8
    assert verdict(found) == f"eth0 and ib0 of n1 lost the link ({PLACE})"


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
@pytest.mark.parametrize("steps", [15, 16])  # only a process within a loop is sure to access its file
def test_a_process_that_waits_in_the_kernel_for_its_file_is_named_with_file_and_server(state, function, waits, steps):
    found = processes([steps] * 4, r2=state)
    for process in found:
        process.file = HungFile(path=f"/d/{process.rank}", type="fuse.glusterfs", source="s:/v", calls=3, offset=None)
    found[2].kernel_function = function
    file = "/d/2 on fuse.glusterfs s:/v"
    kernel = f"the kernel ({function})" if function else "the kernel"
    between = f"rank 2 on n1 waits in {kernel}, its last file was {file} ({PLACE})"
    assert (verdict(found) == f"rank 2 on n1 waits for {file} ({PLACE})") == (waits and steps % 2 == 1)
    assert (verdict(found) == between) == (state == "in the kernel" and steps % 2 == 0)
