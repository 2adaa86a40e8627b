# SPDX-License-Identifier: Apache-2.0
"""Lists of a time of each process or node: whose times they are, and limits of their rules from both sides. No log is
read; test_contradictions.py has those on whole logs."""

from types import SimpleNamespace

import pytest

from coffeecup.postprocess.benchmarks.ftio.records import ProcessTimes
from coffeecup.postprocess.logs.process_times import (
    places_of_nodes,
    problems_of_lists,
    problems_of_resolution,
    problems_of_servers,
    problems_of_slowest,
    ranks_of_nodes,
)

IT = ProcessTimes(0, 1, "read", "read", [1.0])  # any record
BLOCKS, IN_TURN = [[0, 1], [2, 3], [4, 5]], [[0, 3], [1, 4], [2, 5]]


def run(hosts):
    return SimpleNamespace(ranks=sum(map(len, hosts)), hosts=[SimpleNamespace(ranks=ranks) for ranks in hosts])


def names(problems):
    return [name for name, _ in problems]


SOUND, UNSOUND = [(4096, "process"), (4097, "node")], [(4096, "node"), (4097, "process"), (4096, None)]


@pytest.mark.parametrize(
    ("ranks", "resolution", "sound"), [*((*case, True) for case in SOUND), *((*case, False) for case in UNSOUND)]
)
def test_runs_of_more_than_4096_processes_have_a_time_of_each_node(ranks, resolution, sound):
    problems = problems_of_resolution(SimpleNamespace(ranks=ranks), resolution)
    assert names(problems) == ([] if sound else ["process_resolution"])


@pytest.mark.parametrize(
    ("hosts", "processes", "ranks", "of_nodes"),
    [
        (BLOCKS, 6, BLOCKS, [[0], [1], [2]]),
        (BLOCKS, 3, [[0, 1], [2], []], [[0], [1], []]),
        (BLOCKS, 2, [[0, 1], [], []], [[0], [], []]),
        (IN_TURN, 4, [[0, 3], [1], [2]], [[0], [1], [2]]),
    ],
)
def test_a_host_has_the_values_of_its_ranks_or_one_if_it_takes_part(hosts, processes, ranks, of_nodes):
    assert ranks_of_nodes(run(hosts), processes) == ranks
    assert places_of_nodes(run(hosts), "process", processes) == ranks
    assert places_of_nodes(run(hosts), "node", processes) == of_nodes


@pytest.mark.parametrize(
    ("resolution", "lengths", "sound"),
    [
        ("process", (3, 3), True),
        ("process", (3, 2), False),
        ("process", (4, 3), False),
        ("node", (2, 2), True),
        ("node", (2, 3), False),
        ("node", (3,), False),
    ],
)
def test_three_processes_on_two_of_three_nodes_have_as_many_values(resolution, lengths, sound):
    lists = [[1.0] * length for length in lengths]
    problems = problems_of_lists(IT, run(BLOCKS), resolution, 3, *lists)
    assert names(problems) == ([] if sound else ["process_values"])


@pytest.mark.parametrize(
    ("resolution", "slowest", "fastest", "problem"),
    [
        ("process", 3.0, 1.0, []),
        ("process", 3.0, None, []),
        ("process", 3 / (1 + 5.9e-4), 1 / (1 + 5.9e-4), []),
        ("process", 3 / (1 - 5.9e-4), 1 / (1 - 5.9e-4), []),
        ("process", 3 / (1 + 6.1e-4), 1.0, ["process_slowest"]),
        ("process", 3 / (1 - 6.1e-4), 1.0, ["process_slowest"]),
        ("process", 3.0, 1 / (1 + 6.1e-4), ["process_fastest"]),
        ("process", 3.0, 1 / (1 - 6.1e-4), ["process_fastest"]),
        ("process", 2.0, 2.0, ["process_slowest", "process_fastest"]),
        ("node", 3.0, 0.1, []),  # the fastest process is not the slowest one of its node
        ("node", 2.0, 0.1, ["process_slowest"]),
    ],
)
def test_times_of_processes_are_rounded_to_four_digits(resolution, slowest, fastest, problem):
    problems = problems_of_slowest(IT, resolution, [2.0, 1.0, 3.0], slowest, fastest)
    assert names(problems) == problem


def test_processes_that_took_no_time_by_a_coarse_clock_agree():
    assert names(problems_of_slowest(IT, "process", [0.0, 0.0], 0.0, 0.0)) == []
    assert names(problems_of_slowest(IT, "process", [0.0, 1e-9], 0.0, 0.0)) == ["process_slowest"]


@pytest.mark.parametrize(
    ("servers", "files", "resolution", "of_each", "problems"),
    [
        ("ab", [0, 1, 1, 0, 0, 1], "process", True, []),
        ("a", [0] * 6, "process", True, []),
        ("ab", [0, 1, 1, 0, 0], "process", True, ["layout"]),
        ("ab", [0] * 6, "process", True, ["layout"]),  # a server without a file
        ("ab", [1, 0, 0, 0, 0, 0], "process", True, ["layout"]),  # servers are in the order of their first file
        ("ab", [0, 1, 2, 0, 0, 0], "process", True, ["layout"]),
        ("ab", [0, 1, 1, 0, 0, 1], "process", False, ["layout"]),
        ("ab", [0, 1, 1, 0, 0, 1], "node", True, ["layout"]),
        ("ab", [0, 1, 1, 0, 0, 1], None, True, ["layout"]),
    ],
)
def test_each_process_has_a_file_on_a_server(servers, files, resolution, of_each, problems):
    record = SimpleNamespace(servers=list(servers), files=files)
    assert names(problems_of_servers(run(BLOCKS), resolution, 6 if of_each else 0, record)) == problems
