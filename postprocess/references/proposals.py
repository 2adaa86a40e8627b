# SPDX-License-Identifier: Apache-2.0
"""References from stored sessions: a value, bounds with their coverage, and the origin of each.

Pure functions from the history table and the current file to the new one. A value is the median of the sessions. The
bounds are on the bad side of a metric, and such that the next session is inside those of *all* metrics of a test with a
stated probability if nothing changes, whatever the distributions and however the metrics depend on each other.
"""

import re
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import orjson
import pandas as pd

from coffeecup.postprocess.benchmarks.benchmark import STANDARD, VARIANT, Better
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.history.change_points import MAD_TO_SIGMA
from coffeecup.postprocess.show.tables import each_row

# The entries of a file's $index, and their columns in the table; a test's parameters are entries as well.
COLUMNS = {
    "$partition": "where",
    "$environ": "environ",
    "file_system": "file_system",
    "num_processes": "processes",
    "num_tasks": "processes",
}
SIZE = {True: "num_processes", False: "num_tasks"}  # of coffeecup's checks, and of any other test
PLACE = ["where", "environ", "file_system", "parameters", "processes"]  # the columns that tell tests of a class apart
SIGNIFICANT = 4  # significant digits
# By whether the sessions were simulated. Simulated time has no noise, so one session is enough. Other versions of
# SimGrid may compute a little differently; 1 % is how well the simulation agrees with arithmetic (test_simulated.py).
FLOOR = {False: 0.05, True: 0.01}
MIN_SESSIONS = {False: 10, True: 1}


@dataclass(frozen=True)
class Terms:
    """How references are derived. `floor` is a fraction of the value, `scaling` maps a metric to an exponent of the
    number of processes. A simulated value has bounds on both sides, at `floor`: it changes only with the kernel, the
    platform or SimGrid."""

    coverage: float = 0.95
    floor: float = FLOOR[False]
    min_sessions: int = MIN_SESSIONS[False]
    simulated: bool = False
    valid_from: str = ""
    xfail: tuple[tuple[str, str], ...] = ()
    scaling: tuple[tuple[str, float], ...] = ()


def with_places(table: pd.DataFrame) -> pd.DataFrame:
    """A history table with `where`, ReFrame's $partition, and `place`, which also names the environment of a partition
    with several."""
    where = table["system"] + ":" + table["partition"]
    several = table.groupby(where)["environ"].transform("nunique") > 1
    return table.assign(where=where, place=where.mask(several, where + "+" + table["environ"]))


def index_of(table: pd.DataFrame, current=()) -> list[str]:
    """The $index for the references of one benchmark's table: with the environment if a partition has several or the
    current $index has it, with the file system if one is tested, with the parameters of a test, and with the size at
    the end if it is known."""
    placed = with_places(table)
    own = bool(table["benchmark"].isin(list(benchmarks())).all())
    parameters = [name for text in table["parameters"].unique() for name in orjson.loads(text) if is_indexable(name)]
    used = {
        "$partition": True,
        "$environ": "$environ" in current or placed["place"].ne(placed["where"]).any(),
        "file_system": table["file_system"].ne("").any(),
        **dict.fromkeys(parameters, True),
        VARIANT: VARIANT in parameters or VARIANT in current,
        SIZE[own]: table["processes"].gt(0).any(),
    }
    return [name for name, use in used.items() if use]


def is_indexable(parameter: str) -> bool:
    """Whether ReFrame can look up references by a parameter of a test: not by those of its fixtures."""
    return "." not in parameter


def kinds(table: pd.DataFrame) -> pd.Series:
    """For each row the settings that $index cannot tell apart: the options of a kernel without the variant of the
    check; of another test, which parameters it has, and the values of those of its fixtures."""

    def kind(parameters: str) -> str:
        named = orjson.loads(parameters).items()
        return " ".join(name if is_indexable(name) else f"{name}={value}" for name, value in named)

    own = table["benchmark"].isin(list(benchmarks()))
    variants = column(table, VARIANT)
    options = [text.removeprefix(variant).strip() for text, variant in zip(table["settings"], variants)]
    return pd.Series(options, table.index, dtype=str).where(own, table["parameters"].map(kind))


def column(table: pd.DataFrame, name: str) -> pd.Series:
    """The values of an entry of $index in the rows of a table of with_places."""
    if name in COLUMNS:
        return table[COLUMNS[name]]
    default = STANDARD if name == VARIANT else None
    return table["parameters"].map(lambda text: orjson.loads(str(text)).get(name, default))


def entries(values: pd.DataFrame, terms: Terms) -> pd.DataFrame:
    """One row per place, size and metric from a table of change_points.session_values of one benchmark: `value` (the
    median), `lower` and `upper` (fractions of the value, as ReFrame expects them; NaN on the side that is no failure),
    `covered` (the coverage that this number of sessions supports) and the robust `spread` (1.4826 MAD over the median).
    Metrics with a median of 0 have no fractions and are left out."""
    placed = with_places(values)
    grouped = placed.groupby([*PLACE, "metric"], sort=True, observed=True)
    made = grouped.agg(
        benchmark=("benchmark", "last"),
        unit=("unit", "last"),
        better=("better", "last"),
        place=("place", "last"),
        sessions=("session", "nunique"),
        runs=("runs", "sum"),
        value=("value", "median"),
        first=("session_time", "min"),
        last=("session_time", "max"),
        spread=("value", lambda part: MAD_TO_SIGMA * np.median(np.abs(part - part.median()))),
    ).reset_index()
    made = made[(made["sessions"] >= terms.min_sessions) & (made["value"] != 0)]
    parts = [
        with_bounds(rows, placed.merge(rows[[*PLACE, "metric"]]), terms) for _, rows in made.groupby(PLACE, sort=True)
    ]
    return pd.concat(parts, ignore_index=True) if parts else made.assign(lower=0.0, upper=0.0, covered=0.0)


def with_bounds(rows: pd.DataFrame, values: pd.DataFrame, terms: Terms) -> pd.DataFrame:
    """The rows of one test with `lower`, `upper` and `covered`, from the values of its sessions. All nodes of a test
    that --distribute runs on each one have the same reference: its bounds are those of the node that needs the widest.
    """
    size, better = rows["value"].abs().to_numpy(), list(rows["better"])
    if terms.simulated:
        return rows.assign(lower=-terms.floor, upper=terms.floor, covered=1.0, spread=rows["spread"] / size)
    wide = values.pivot_table(index="session", columns=["metric", "node"], values="value")
    wide = wide.loc[:, wide.count() > 1]
    of_column = rows.set_index("metric").loc[wide.columns.get_level_values("metric")]
    each, measured = list(of_column["better"]), wide.to_numpy()
    middle = median_of(measured)
    needed = np.maximum(allowance(measured, each, terms.floor, terms.coverage), terms.floor * np.abs(middle))
    needed += shortfall(middle, of_column["value"].to_numpy(), each)
    widest = pd.Series(needed, wide.columns).groupby(level="metric").max()[rows["metric"]].to_numpy()
    reach = np.maximum(widest / size, terms.floor)
    sessions = len(measured)
    return rows.assign(
        lower=np.where([side == Better.LOWER for side in better], np.nan, -reach),
        upper=np.where([side == Better.HIGHER for side in better], np.nan, reach),
        covered=min(terms.coverage, sessions / (sessions + 1)),
        spread=rows["spread"] / size,
    )


def allowance(measured: np.ndarray, better: list[Better], floor: float, coverage: float) -> np.ndarray:
    """How much worse than its median each metric may be, (metrics,), so that the next row of `measured`, (sessions,
    metrics) with NaN where a session lacks a metric, is inside all allowances with the probability `coverage`, or
    sessions / (sessions + 1) where that is less.

    The usual reach of a metric is its largest shortfall, or `floor` of its median where that is more. A session is
    rated by its worst metric: its shortfall over the reach of the other sessions. So rated, the next session is one
    more of an exchangeable set, and its rating is below the k-th smallest of n with probability k / (n + 1) (Weibull).
    """
    others = [np.delete(measured, session, axis=0) for session in range(len(measured))]
    ratings = [
        np.nanmax(shortfall(row, median_of(rest), better) / reach_of(rest, better, floor))
        for row, rest in zip(measured, others)
    ]
    return float(np.quantile(ratings, coverage, method="weibull")) * reach_of(measured, better, floor)


def median_of(measured: np.ndarray) -> np.ndarray:
    return np.nanmedian(measured, axis=0)


def reach_of(measured: np.ndarray, better: list[Better], floor: float) -> np.ndarray:
    median = median_of(measured)
    return np.maximum(np.nanmax(shortfall(measured, median, better), axis=0), floor * np.abs(median))


def shortfall(measured: np.ndarray, median: np.ndarray, better: list[Better]) -> np.ndarray:
    """How much worse than the median each value is; how far from it, if no direction is better."""
    worse = np.array([{Better.HIGHER: 1, Better.LOWER: -1}.get(side, 0) for side in better])
    return np.where(worse == 0, np.abs(median - measured), worse * (median - measured))


def proposal(today: dict, benchmark: str, made: pd.DataFrame, values: pd.DataFrame, terms: Terms) -> dict:
    """The new content of a reference file: the current one with the rows of `entries` inserted or replaced, each with
    its origin in `_meta`.

    The previous value of a place and size is kept under `_meta` as an epoch that has ended. Marks of expected failures
    stay.
    """
    new = deepcopy(today)
    index = index_of(values, today.get(benchmark, {}).get("$index", ()))
    meta, tree = new.setdefault("_meta", {}), new.setdefault(benchmark, {"$index": index})
    marks = dict(terms.xfail)
    for key, rows in made.groupby([column(made, name).rename(name) for name in index]):
        *where, size = key
        place = inside(tree, where)
        before = place.get(size, {})
        place[size] = dict(before) | {
            row.metric: entry(row, before.get(row.metric), marks.get(row.metric)) for row in each_row(rows)
        }
        known = inside(meta.setdefault(kind_of(terms), {}), where)
        history = known.get(size, [])
        if history and before and history[-1]["valid_from"] != terms.valid_from:
            history[-1]["values"] = before
            known[size] = [*history, provenance(rows, values, terms)]
        else:
            known[size] = [*history[:-1], provenance(rows, values, terms)]
    meta["provenance"] = "coffeecup references propose; docs/references.md explains the entries"
    if terms.scaling:
        laws = {metric: {"exponent": exponent} for metric, exponent in terms.scaling}
        meta["scaling"] = meta.get("scaling", {}) | laws
    return new


def inside(tree: dict, keys: list) -> dict:
    """The mapping that the keys lead to; created if it is missing."""
    for key in keys:
        tree = tree.setdefault(key, {})
    return tree


def entry(row, before, ticket: str | None) -> list:
    """ReFrame's form: [value, lower, upper, unit], in ['$xfail', ticket, ...] if a failure is expected. An empty ticket
    removes the mark."""
    found = [rounded(row.value), bound(row.lower), bound(row.upper), row.unit]
    if ticket is None and isinstance(before, list) and before and before[0] == "$xfail":
        ticket = before[1]
    return ["$xfail", ticket, found] if ticket else found


def bound(fraction: float) -> float | None:
    return None if np.isnan(fraction) else round(float(fraction), 4)


def rounded(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")


def provenance(rows: pd.DataFrame, values: pd.DataFrame, terms: Terms) -> dict:
    """The origin of the values of one place and size."""
    used = with_places(values).merge(rows[[*PLACE, "metric"]])
    return {
        "valid_from": terms.valid_from,
        "settings": ", ".join(sorted(used["settings"].unique())),
        "sessions": sorted(used["session"].unique()),
        "runs": int(rows["runs"].max()),
        "window": [f"{rows['first'].min():%Y-%m-%d}", f"{rows['last'].max():%Y-%m-%d}"],
        "floor": terms.floor,
        **{name: sorted(set(used[name]) - {""}) for name in ("kernel_version", "mpi_library", "spack_hash")},
        **(simulation(used) if terms.simulated else noise(rows)),
    }


def noise(rows: pd.DataFrame) -> dict:
    """What the values of several sessions say about the next one."""
    return {
        "coverage": round(float(rows["covered"].min()), 3),
        "spread": {row.metric: round(float(row.spread), 4) for row in each_row(rows)},
    }


def kind_of(terms: Terms) -> str:
    """The entry of `_meta` that records the origin of the values."""
    return "simulated" if terms.simulated else "measured"


def simulation(used: pd.DataFrame) -> dict:
    """What repeats simulated values, besides the versions: the command, the source and the platform."""
    facts = orjson.loads(used["facts"].iloc[-1])
    return {
        "command": "reframe " + used["selection"].iloc[-1],
        "git_revision": sorted(set(used["git_revision"])),
        **{name: facts[f"environment SMPI_{name.upper()}"] for name in ("platform", "platform_sha256", "placement")},
    }


def worded(row) -> str:
    """Place, parameters, size and metric of a row with the columns of with_places."""
    parameters = " ".join(f"{name}={value}" for name, value in orjson.loads(row.parameters).items())
    parts = (row.place, row.file_system, parameters, row.processes, row.metric)
    return ", ".join(str(part) for part in parts if part)


def hidden(today: dict, benchmark: str, made: pd.DataFrame) -> str | None:
    """The pattern of the current file that ReFrame, which takes the first match, would use instead of a proposed place;
    None if there is none."""
    patterns = [pattern for pattern in today.get(benchmark, {}) if pattern != "$index"]
    first = {
        where: next((pattern for pattern in patterns if re.fullmatch(pattern, where)), where)
        for where in made["where"].unique()
    }
    return next(
        (
            f"{pattern!r} fits {where} and would hide it: name the partitions one by one"
            for where, pattern in first.items()
            if pattern != where
        ),
        None,
    )


def differences(today: dict, new: dict, benchmark: str) -> list[tuple[tuple, object, object]]:
    """(place, was, now) for every entry that differs; None stands for a missing entry."""
    was, now = flat(today, benchmark), flat(new, benchmark)
    return [(key, was.get(key), now.get(key)) for key in sorted({*was, *now}, key=str) if was.get(key) != now.get(key)]


def flat(content: dict, benchmark: str) -> dict[tuple, list]:
    """(what $index names, ..., metric) to entry, of all entries of a reference file."""
    tree = content.get(benchmark) or {}
    found = {(where,): inner for where, inner in tree.items() if where != "$index"}
    for _ in tree.get("$index", COLUMNS):  # from the partition down to the metrics
        found = {(*keys, key): inner for keys, mapping in found.items() for key, inner in (mapping or {}).items()}
    return found


def outside(values: pd.DataFrame, made: pd.DataFrame) -> pd.DataFrame:
    """The sessions that would have failed with the bounds of `made`: rows of session_values with `least` and `most`."""
    bounds = made.assign(
        least=made["value"] + made["value"].abs() * made["lower"],
        most=made["value"] + made["value"].abs() * made["upper"],
    )
    key = [*PLACE, "metric"]
    joined = with_places(values).merge(bounds[[*key, "least", "most"]], on=key)
    return joined[(joined["value"] < joined["least"]) | (joined["value"] > joined["most"])].sort_values("session_time")
