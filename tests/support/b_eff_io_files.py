# SPDX-License-Identifier: Apache-2.0
"""Every byte of b_eff_io's files, put together from the definition: the table of patterns, and the counts in a log.

Word k of what a source writes is x ^ x >> 15 with x = seed(source) + k * 0x9E3779B1.
"""

import numpy as np

from coffeecup.postprocess.benchmarks.b_eff_io.definition import TYPES


def content(source, position, count, period=4099 * 4096):
    """What a process writes in a pattern from `position` of its own sequence on."""
    x = np.uint32(source) + np.uint32(0x7F4A7C15)
    x = (x ^ x >> np.uint32(16)) * np.uint32(0x21F0AAAD)
    x = (x ^ x >> np.uint32(15)) * np.uint32(0x735A2D97)
    x = x ^ x >> np.uint32(15)
    begin = position % period
    end = min(begin + count, period)
    words = x + np.arange(begin // 4, -(-end // 4), dtype=np.uint32) * np.uint32(0x9E3779B1)
    sequence = (words ^ words >> np.uint32(15)).view(np.uint8)[begin % 4 :]
    if begin + count <= period:
        return sequence[:count]
    return np.concatenate([sequence, content(source, 0, count - sequence.size, period)])


def source(place, number, rank, rewritten):
    """Number `rank` of splitmix64's sequence from the pass as seed, its low 32 bits."""
    mask = 2**64 - 1
    x = ((((place * 49 + number) * 2 + rewritten) << 32) + (rank + 1) * 0x9E3779B97F4A7C15) & mask
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ x >> 27) * 0x94D049BB133111EB & mask
    return (x ^ x >> 31) & (2**32 - 1)


def files_by_definition(log, place, folder):
    """Every file of the partition by its name, put together from the table of patterns and the counts in the log. In
    type separate each process has counts of its own, of which the log has the minimum, the maximum and the sum: they
    are found in the files in `folder`."""
    plan, found = log[1], [r for r in log if r["record"] == "measurement"]
    processes = plan["partitions"][place]
    calls = {
        method: {r["pattern"]: r for r in found if r["method"] == method and r["partition"] == processes}
        for method in plan["methods"]
    }
    with np.errstate(over="ignore"):
        for number, name in enumerate(TYPES):
            if name not in {entry["name"] for entry in plan["types"]}:
                continue
            patterns = [(r, calls["rewrite"][r["pattern"]]) for r in calls["write"].values() if r["type"] == name]
            if name == "separate":
                files = [
                    np.fromfile(folder / f"n{processes}-type{number}-rank{rank}", dtype=np.uint8)
                    for rank in range(processes)
                ]
                yield from separate(place, number, patterns, files)
                continue
            own = [
                np.concatenate(
                    [own_sequence(place, r, r["calls_min"], rewrite["calls_min"], rank) for r, rewrite in patterns]
                )
                for rank in range(processes)
            ]
            if name.startswith("segmented"):
                [segment] = {
                    r["segment_bytes"]
                    for r in log
                    if r["record"] == "pattern_type" and (r["partition"], r["type"]) == (processes, name)
                }
                holes = [np.zeros(segment - data.size, dtype=np.uint8) for data in own[:-1]]  # calls that were left out
                parts = [part for pair in zip(own, holes) for part in pair]
                yield f"n{processes}-type{number}", np.concatenate(parts + own[-1:])
            else:
                yield f"n{processes}-type{number}", strided(own, [r for r, _ in patterns], processes)


def separate(place, number, patterns, files):
    counts = [list(own_counts(place, patterns, file, rank)) for rank, file in enumerate(files)]
    for which, (write, rewrite) in enumerate(patterns):
        for record, made in ((write, [own[which][0] for own in counts]), (rewrite, [own[which][1] for own in counts])):
            stated = [record[f"calls_{name}"] for name in ("min", "max", "sum")]
            assert [min(made), max(made), sum(made)] == stated, record
    for rank, own in enumerate(counts):
        made = [own_sequence(place, write, *counts, rank) for (write, _), counts in zip(patterns, own)]
        yield f"n{len(files)}-type{number}-rank{rank}", np.concatenate(made)


def own_counts(place, patterns, file, rank):
    """Calls of a process that are in its file, per pattern: of the write pass, and how many of these were rewritten."""
    at = 0
    for write, _ in patterns:
        rest, call = file[at : at + write["calls_max"] * write["call_bytes"]], write["call_bytes"]
        first, again = (
            calls_alike(rest, content(source(place, write["pattern"], rank, rewritten), 0, rest.size), call)
            for rewritten in (False, True)
        )
        rewritten = int(np.argmin(again)) if not again.all() else again.size
        later = first[rewritten:]
        written = rewritten + (int(np.argmin(later)) if not later.all() else later.size)
        yield written, rewritten
        at += written * call


def calls_alike(data, expected, call):
    whole = data.size // call * call
    return (data[:whole] == expected[:whole]).reshape(-1, call).all(axis=1)


def own_sequence(place, record, written, rewritten, rank):
    """A process's data of one pattern, in the order of its calls: those of the rewrite, then what it left of the first
    pass."""
    first, rest = rewritten * record["call_bytes"], (written - rewritten) * record["call_bytes"]
    return np.concatenate(
        [
            content(source(place, record["pattern"], rank, True), 0, first),
            content(source(place, record["pattern"], rank, False), first, rest),
        ]
    )


def strided(own, patterns, processes):
    pieces, at = [], 0
    for r in patterns:
        mine = r["calls_min"] * r["call_bytes"]
        chunks = np.stack([sequence[at : at + mine].reshape(-1, r["chunk_bytes"]) for sequence in own], axis=1)
        pieces.append(chunks.reshape(-1))
        at += mine
    return np.concatenate(pieces)
