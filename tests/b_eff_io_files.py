"""Every byte of b_eff_io's files, put together from the definition: the table of patterns, and the counts in a log.

Word k of what a source writes is x ^ x >> 15 with x = seed(source) + k * 0x9E3779B1.
"""

import numpy as np

from postprocess.benchmarks.b_eff_io.rules import TYPES


def content(source, position, count, period=4099 * 4096):
    """What a process writes in a pattern from `position` of its own sequence on."""
    x = np.uint32(source) + np.uint32(0x7F4A7C15)
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x21F0AAAD)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x735A2D97)
    x = x ^ x >> np.uint32(15)
    words = x + np.arange(period // 4, dtype=np.uint32) * np.uint32(0x9E3779B1)
    sequence = (words ^ words >> np.uint32(15)).view(np.uint8)
    return np.resize(np.roll(sequence, -(position % period)), count) if position % period else np.resize(sequence, count)


def source(place, number, rank, rewritten):
    x = ((place * 49 + number) * 2 + rewritten) * 0x100000001B3 + rank
    x = (x ^ x >> 31) * 0x9E3779B97F4A7C15 % 2**64
    return x >> 32


def files_by_definition(log, place):
    """Every file of the partition by its name, put together from the table of patterns and the counts in the log."""
    plan, found = log[1], [r for r in log if r["record"] == "measurement"]
    processes = plan["partitions"][place]
    calls = {method: {r["pattern"]: r for r in found if r["method"] == method and r["partition"] == processes} for method in plan["methods"]}
    with np.errstate(over="ignore"):
        for number, name in enumerate(TYPES):
            patterns = [r for r in calls["write"].values() if r["type"] == name]
            own = [np.concatenate([own_sequence(place, r, calls["rewrite"][r["pattern"]]["calls"], rank) for r in patterns])
                   for rank in range(processes)]
            if name == "separate":
                yield from ((f"n{processes}-type{number}-rank{rank}", own[rank]) for rank in range(processes))
            elif name.startswith("segmented"):
                yield f"n{processes}-type{number}", np.concatenate(own)
            else:
                yield f"n{processes}-type{number}", strided(own, patterns, processes)


def own_sequence(place, record, rewritten, rank):
    """A process's data of one pattern, in the order of its calls: those of the rewrite, then what it left of the first pass."""
    count, first = record["calls"] * record["call_bytes"], rewritten * record["call_bytes"]
    return np.concatenate([content(source(place, record["pattern"], rank, True), 0, count)[:first],
                           content(source(place, record["pattern"], rank, False), 0, count)[first:]])


def strided(own, patterns, processes):
    pieces, at = [], 0
    for r in patterns:
        mine = r["calls"] * r["call_bytes"]
        chunks = np.stack([sequence[at:at + mine].reshape(-1, r["chunk_bytes"]) for sequence in own], axis=1)
        pieces.append(chunks.reshape(-1))
        at += mine
    return np.concatenate(pieces)
