# SPDX-License-Identifier: Apache-2.0
"""What has to agree in a log of b_eff: the names of problems in its rules, and the table of docs/log.md."""

from coffeecup.postprocess.benchmarks.b_eff.parts import doors

INVARIANTS = {
    "two_processes": "there are at least two processes",
    "no_file_system": "no file system is tested",
    "wrong_bytes": "no byte was received wrong",
    "planned_once": "no pattern and no method is planned twice",
    "averaged_methods": "`sendrecv`, `alltoallv` and `nonblocking` are averaged, no other method",
    "all_patterns": "the six rings and as many random patterns as `random_patterns` says are planned",
    "group_of_pattern": "the name of a pattern begins with its group",
    "planned": (
        "patterns, their groups, rings, messages, processes and methods are those of the paper, in the plan's order; "
        "`l_max_bytes`, `buffer_bytes` and copies in memory follow from the memory per process, matchings and their "
        "partners from the options, the nodes, the seed and the message lengths; `received_bytes` is the sum over the "
        "loops"
    ),
    "grids": "a grid's pattern of all directions has the messages of its directions together, on the same processes",
    "lengths": "the 21 message lengths are those of the paper for `l_max_bytes`",
    "options": (
        "time budget, seed, repetitions, loop lengths, random patterns, methods, groups of patterns, kinds of memory "
        "and `all_pairs` are those of the options"
    ),
    "budget": "the methods that a `budget` record leaves are those that `reduced_to` means",
    "budget_times": "the times of `budget`, `stop` and `matchings_left_out` records do not decrease",
    "stop": (
        "a run is stopped once; `needed_budget_seconds` is there in an averaged pattern of the first repetition, and "
        "nowhere else"
    ),
    "averaged_loops": "every averaged pattern has at every length a loop by an averaged method",
    "shortest": "no loop takes less than a nanosecond",
    "fastest": "the fastest process does not take longer than the slowest",
    "slowest_message": (
        "`slowest_message_seconds` is the time of the loop divided by the messages of a process; between both values "
        "if rings have different sizes"
    ),
    "loop_length": (
        "a trial has one exchange, a latency loop 10 000 or `longest_loop_length`, and no loop more than "
        "`longest_loop_length`"
    ),
    "checked_bytes": (
        "checked are not more bytes than were received, and at least one exchange of each loop; none in a simulation"
    ),
} | {name: text for door in doors().values() for name, text in door.invariants.items()}
