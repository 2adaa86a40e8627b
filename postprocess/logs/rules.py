"""What every log must hold to yield a score, whatever the benchmark: generators of sentences on what is wrong."""

from collections.abc import Iterator

from postprocess.logs.reader import RUN_AGAIN, Log


def problems_of_ranks(log: Log) -> Iterator[str]:
    ranks = log.run["ranks"]
    placed = [rank for host in log.run["hosts"] for rank in host["ranks"]]
    if len(placed) != ranks or set(placed) != set(range(ranks)):
        yield f"the hosts' ranks are not 0 to {ranks - 1}, each once; {RUN_AGAIN}"


def problems_of_file_system(log: Log) -> Iterator[str]:
    if log.run["filesystem"] is None:
        yield f"the log does not tell the file system under test; {RUN_AGAIN}"


def problems_of_single(log: Log, *kinds: str) -> Iterator[str]:
    """Records of which a log has one."""
    for kind in kinds:
        if (count := len(log.records.get(kind, []))) != 1:
            yield f"{count} {kind} records where one belongs; {RUN_AGAIN}"
