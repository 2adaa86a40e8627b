# SPDX-License-Identifier: Apache-2.0
"""From the counters of Darshan logs to kinds of requests. The manual of darshan-util explains the counters."""

from math import sqrt

import pandas as pd

from coffeecup.postprocess.benchmarks.priomark.darshan.logs import DarshanLog

# The bins of Darshan's histograms, and the largest size in bytes of each. Larger requests are cut: 1 GiB is the most
# that a workload can have.
BINS = {
    "0_100": 100,
    "100_1K": 1 << 10,
    "1K_10K": 10 << 10,
    "10K_100K": 100 << 10,
    "100K_1M": 1 << 20,
    "1M_4M": 4 << 20,
    "4M_10M": 10 << 20,
    "10M_100M": 100 << 20,
    "100M_1G": 1 << 30,
    "1G_PLUS": 1 << 30,
}
RANGES = list(zip([1, *(most + 1 for most in BINS.values())], BINS.values()))
RANGES[-1] = (1 << 30, 1 << 30)
DIRECTIONS = {"READ": "BYTES_READ", "WRITE": "BYTES_WRITTEN"}  # and the counters of their bytes
SWITCHES = 0.1  # changes between reads and writes per request, above which a file's reads and writes are mixed
COMMON = 0.9  # share of the requests of a bin above which their most frequent size stands for all of them
KIND = ["shared", "mpi_io", "order", "mixed"]  # files with the same kind of requests


def files(log: DarshanLog) -> pd.DataFrame:
    """A row for each record with requests by MPI-IO or POSIX: the counters, and `shared` (accessed by several
    processes), `mpi_io`, `mixed` and, for each direction, its order (`in order`, `strided`, `random`). What MPI-IO
    requests of POSIX is not counted again; Darshan counts the order of requests there only."""
    posix, mpi_io = log.tables.get("POSIX", pd.DataFrame()), log.tables.get("MPI-IO", pd.DataFrame())
    parts = []
    if not mpi_io.empty:
        kept = mpi_io.assign(
            mpi_io=True,
            READS=sum(mpi_io[f"{way}_READS"] for way in ("INDEP", "COLL", "SPLIT", "NB")),
            WRITES=sum(mpi_io[f"{way}_WRITES"] for way in ("INDEP", "COLL", "SPLIT", "NB")),
        ).rename(columns=lambda name: name.replace("_AGG_", "_"))
        kept = kept[kept.READS + kept.WRITES > 0]
        ordered = [f"{kind}_{way}S" for kind in ("SEQ", "CONSEC") for way in DIRECTIONS]
        if not posix.empty:
            below = posix[["id", "rank", "OPENS", *ordered]]
            kept = kept.merge(below, on=["id", "rank"], how="left")
            posix = posix[~posix.id.isin(kept.id)]
        parts.append(kept)
    if not posix.empty:
        parts.append(posix[posix.READS + posix.WRITES > 0].assign(mpi_io=False))
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    if found.empty:
        return found
    found["shared"] = (found["rank"] < 0) | found.id.duplicated(keep=False)
    found["shared"] &= log.processes > 1
    found["mixed"] = found.RW_SWITCHES >= SWITCHES * (found.READS + found.WRITES)
    for way in DIRECTIONS:
        found[f"order_{way}"] = order(found, way)
    return found


def order(found: pd.DataFrame, way: str) -> pd.Series:
    """Half of the requests decide, without the first one after each open, which Darshan does not count. In order are
    those behind the previous one; strided those that are not directly behind it, in shared files of MPI-IO."""
    columns = [name if name in found else f"{way}S" for name in (f"SEQ_{way}S", f"CONSEC_{way}S")]
    following = (found[f"{way}S"] - found.get("OPENS", 0)).clip(lower=0)
    behind, directly = (2 * found[name].fillna(found[f"{way}S"]) >= following for name in columns)
    strided = behind & ~directly & found.shared & found.mpi_io
    return pd.Series("random", found.index).mask(behind, "in order").mask(strided, "strided")


def kinds(found: pd.DataFrame) -> pd.DataFrame:
    """A row for each kind of requests and bin of sizes: the columns of KIND, `collective`, `reads`, `writes` and
    `block_bytes`, a size that stands for all. Operations are exact; sizes are exact where they are common in a file.
    """
    rows = []
    for mixed, way in ((True, ""), (False, "READ"), (False, "WRITE")):
        part = found[found.mixed == mixed]
        part = part.assign(order=part[f"order_{way or 'READ'}"])
        for kind, own in part.groupby(KIND):
            ways = [way] if way else [*DIRECTIONS]
            rows += of_kind(dict(zip(KIND, kind)), own, ways)
    return pd.DataFrame(rows)


def of_kind(kind: dict, own: pd.DataFrame, ways: list[str]) -> list[dict]:
    """The rows of one kind. In MPI-IO, the largest requests are taken for the collective ones."""
    counts = {way: [int(own[f"SIZE_{way}_{name}"].sum()) for name in BINS] for way in ways}
    moved = sum(int(own[DIRECTIONS[way]].sum()) for way in ways)
    together = [sum(counts[way][place] for way in ways) for place in range(len(BINS))]
    sizes = typical(own, together, moved)
    left = {way: int(own[f"COLL_{way}S"].sum()) if kind["mpi_io"] else 0 for way in ways}
    rows = []
    for place in reversed(range(len(BINS))):
        taken = {way: min(left[way], counts[way][place]) for way in ways}
        left = {way: left[way] - taken[way] for way in ways}
        rest = {way: counts[way][place] - taken[way] for way in ways}
        for collective, each in ((True, taken), (False, rest)):
            if sum(each.values()):
                named = {"reads": each.get("READ", 0), "writes": each.get("WRITE", 0)}
                rows.append({**kind, "collective": collective, **named, "block_bytes": sizes[place]})
    return rows


def typical(own: pd.DataFrame, counts: list[int], moved: int) -> list[int]:
    """A size for each bin. It is the most frequent one that Darshan noted, of reads and writes together, if it is
    common. The others share the remaining bytes, in the proportions of the mean of the noted sizes, or of the middle of
    the bin, and within the bins."""
    noted = pd.concat(
        [own[[f"ACCESS{i}_ACCESS", f"ACCESS{i}_COUNT"]].set_axis(["bytes", "count"], axis=1) for i in range(1, 5)]
    )
    both = [int((own[f"SIZE_READ_{name}"] + own[f"SIZE_WRITE_{name}"]).sum()) for name in BINS]
    often = noted.groupby("bytes")["count"].sum().sort_values(ascending=False)
    sizes, middles = [0] * len(RANGES), [sqrt(low * high) for low, high in RANGES]
    for place, (low, high) in enumerate(RANGES):
        inside = often[(often.index >= low) & (often.index <= high) & (often > 0)]
        if len(inside):
            middles[place] = float((inside.index * inside).sum() / inside.sum())
            sizes[place] = int(inside.index[0]) if inside.iloc[0] >= COMMON * both[place] else 0
    rest = max(moved - sum(count * size for count, size in zip(counts, sizes)), 0)
    weight = sum(count * middle for count, size, middle in zip(counts, sizes, middles) if not size)
    factor = rest / weight if weight else 1
    return [
        size or round(min(max(factor * middle, low), high)) for size, middle, (low, high) in zip(sizes, middles, RANGES)
    ]


def unlike(log: DarshanLog) -> dict[str, tuple[int, int]]:
    """What a log has and a workload has not: operations and bytes of each."""
    found = {}
    if (stdio := log.tables.get("STDIO")) is not None:
        moved = int(stdio.BYTES_READ.sum() + stdio.BYTES_WRITTEN.sum())
        found["requests by stdio"] = int(stdio.READS.sum() + stdio.WRITES.sum()), moved
    if (posix := log.tables.get("POSIX")) is not None:
        columns = {
            "opens": ["OPENS"],
            "stats": ["STATS"],
            "syncs": ["FSYNCS", "FDSYNCS"],
            "unaligned": ["FILE_NOT_ALIGNED"],
        }
        for what, names in columns.items():
            found[what] = int(posix[names].clip(lower=0).sum().sum()), 0
    found["logs with a trace of each request (DXT): see `coffeecup workload replay`"] = int(log.has_trace), 0
    return {what: each for what, each in found.items() if each[0]}
