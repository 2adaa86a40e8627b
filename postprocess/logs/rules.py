# SPDX-License-Identifier: Apache-2.0
"""What every log must contain to yield a score, whatever the benchmark: generators of problems, one sentence each."""

from collections.abc import Callable, Iterator

import pandas as pd

from postprocess.logs.reader import RUN_AGAIN, Log
from postprocess.logs.records import DataCheck, Record, kind_of


def first_problems(
    score: str, problems: Callable[[Log, pd.DataFrame], Iterator[str]], logs: list[Log], table: pd.DataFrame
) -> dict[int, str]:
    """Which logs yield no score and why, by their index in `logs`: the first of a log's problems. `problems` is called
    with a log and its rows of `table`; `score` is the name of the missing number."""
    rows, nothing = dict(iter(table.groupby("log"))), table.iloc[:0]
    return {
        number: f"no {score}: {why}"
        for number, log in enumerate(logs)
        if (why := next(problems(log, rows.get(number, nothing)), None))
    }


def problems_of_ranks(log: Log) -> Iterator[str]:
    ranks = log.run.ranks
    placed = [rank for host in log.run.hosts for rank in host.ranks]
    if len(placed) != ranks or set(placed) != set(range(ranks)):
        yield f"the hosts' ranks are not 0 to {ranks - 1}, each once; {RUN_AGAIN}"


def problems_of_file_system(log: Log) -> Iterator[str]:
    if log.run.filesystem is None:
        yield f"the log does not state the file system under test; {RUN_AGAIN}"


def problems_of_reads(check: DataCheck, least_checked: int = 0) -> Iterator[str]:
    """The data check of a benchmark that reads what it wrote."""
    if check.wrong_bytes:
        yield f"{check.wrong_bytes} bytes were read wrong; have the file system and the MPI library examined"
    if not least_checked <= check.checked_bytes <= check.read_bytes:
        yield f"{check.checked_bytes} bytes were checked of {check.read_bytes} that were read; {RUN_AGAIN}"


def problems_of_single(log: Log, *kinds: type[Record]) -> Iterator[str]:
    """Kinds of records that must occur exactly once."""
    for kind in kinds:
        if (count := len(log.all(kind))) != 1:
            yield f"{count} {kind_of(kind)} records where one belongs; {RUN_AGAIN}"
