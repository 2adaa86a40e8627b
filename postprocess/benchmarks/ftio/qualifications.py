# SPDX-License-Identifier: Apache-2.0
"""Qualifications of an FTIO result: which rules the run did not keep, and what else improves or limits the result. They
are shown beside the number everywhere."""

from collections.abc import Iterator

import pandas as pd

from coffeecup.postprocess.benchmarks.ftio.records import Plan, Repetition
from coffeecup.postprocess.logs.hosts import of_hosts, several, shared_cores
from coffeecup.postprocess.logs.reader import Log
from coffeecup.postprocess.logs.records import Host
from coffeecup.postprocess.show.words import seconds, size

OFFICIAL_SECONDS = 10.0
MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs", "devtmpfs")


def breaches(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """The rules that the run did not keep; a run without any is official. The paper runs one process on each processor.
    Two rules are coffeecup's own: the matrix comes from the disk, and a repetition is long enough to be reproducible. A
    log that breaks the paper's rules on sizes yields no score."""
    run = log.run
    if run.ranks < 2:
        yield "one_process", "the paper requires more than one process; this run exchanged nothing"
    if shared := shared_cores(run.hosts):
        yield "overcommitted", f"{shared}; the paper asks for as many processors as processes"
    in_memory = run.tested_filesystem.type in MEMORY_FILE_SYSTEMS
    if (in_memory or not log.plan.direct) and (holding := hosts_that_hold_their_part(log)):
        yield (
            "cached",
            (
                f"the matrix of {size(log.plan.matrix_bytes)} is not larger than the memory of the hosts that worked "
                f"on it ({several(holding)}), and "
                + (
                    "the file system keeps its files there"
                    if in_memory
                    else "I/O was not direct: reads could come from memory, only writes and their flush had to reach "
                    "the file system (choose --direct, or a larger --input)"
                )
            ),
        )
    shortest = min(max(record.elapsed_seconds) for record in log.all(Repetition))
    if shortest < OFFICIAL_SECONDS:
        yield (
            "short_run",
            f"a repetition took {seconds(shortest)}, an official one takes at least {seconds(OFFICIAL_SECONDS)}: "
            "shorter ones show passing conditions more than the file system (choose a larger --input)",
        )


def hosts_that_hold_their_part(log: Log[Plan]) -> list[Host]:
    """The hosts whose memory is at least as large as their processes' part of the matrix."""
    matrix, ranks = log.plan.matrix_bytes, log.run.ranks
    return [host for host in log.run.hosts if matrix * len(host.ranks) <= host.memory_bytes * ranks]


def qualifications(log: Log[Plan], table: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """All qualifications of a log. `table` contains the log's rows of a measurement_table."""
    yield from of_files(log)
    yield from of_machine(log)
    yield from of_repetitions(log)


def of_files(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    plan = log.plan
    if (system := log.run.tested_filesystem.type) in MEMORY_FILE_SYSTEMS:
        yield "memory_file_system", f"The files lay in memory ({system}): no disk was measured"
    elif plan.direct:
        yield "direct", "Direct I/O: every read and write went past the page cache"
    if plan.storage == "mpiio":
        yield (
            "shared_file",
            "The matrix lay in one shared file and was accessed through MPI-IO; the paper has a file per process",
        )


def of_machine(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """Qualifications by the hosts. Overcommitted hosts break a rule here, and a single host matters less than in a
    benchmark of communication."""
    for key, text in of_hosts(log):
        if key == "one_host":
            yield key, "All processes ran on one host: nothing was exchanged over a network"
        elif key != "overcommitted":
            yield key, text


def of_repetitions(log: Log[Plan]) -> Iterator[tuple[str, str]]:
    """What the number of repetitions limits: key and sentence."""
    if len(log.all(Repetition)) == 1:
        yield (
            "single_run",
            "The computation ran once: there is no interval, and I/O may vary much from run to run (--repeat)",
        )
