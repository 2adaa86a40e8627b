# SPDX-License-Identifier: Apache-2.0
"""What was expected to be measured, and what was not: tests that failed, were skipped or did not run, and tests that
lack a metric.

Sessions with the same selection of tests are compared with each other: a test is missed if as many of them have passed
without it as usually (in the median) pass between two that have it. So a test that runs every night is missed at once,
one that runs in every seventh session after seven, and a session that somebody starts by hand with other options misses
nothing. A test that ran once is expected only if a list of expected tests contains it, and then in every session. The
same holds for a metric of a test of others: ReFrame passes a test whose performance function raised.

Pure functions from tables of history.table to tables.
"""

import re
from collections.abc import Iterable
from typing import cast

import numpy as np
import orjson
import pandas as pd

from coffeecup.postprocess.history.site_files import Entry, Maintenance, in_maintenance

TEST = ["system", "partition", "environ", "node", "test"]  # what the sessions repeat
PLACE = ["benchmark", "processes", "file_system"]
OF_RUN = ["session", "result", "reason", "measured", "metrics"]
MEASURED, FAILED, SKIPPED, NOT_RUN = "measured", "failed", "skipped", "not run"
REPETITION = re.compile(r" %\.repeat_no=\d+")
INCOMPLETE = "without some of its metrics"
DETAILS = ["state", "sessions", "since", "last_value", "reason"]


def tests_of(cases: pd.DataFrame) -> pd.DataFrame:
    """A case_table with the column `test`, the name without the number of its repetition; without dry runs, which pass
    and measure nothing."""
    named = with_names(cases)
    return named[named["measured"] | (named["result"] != "pass")]


def with_names(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column `test`: the name of the test without the number of its repetition."""
    names = {name: REPETITION.sub("", name) for name in table["name"].unique()}
    return table.assign(test=table["name"].map(names).astype(str))


def of_each_test(cases: pd.DataFrame, entries: Iterable[Entry]) -> dict[tuple, tuple[pd.DataFrame, pd.DataFrame]]:
    """By the columns of TEST: the runs of a test, and the sessions of its system, as of sessions_of; without what was
    in maintenance of this test, of the entries of the site's file."""
    sessions, tests, found = sessions_of(cases), tests_of(cases), {}
    pauses = [entry for entry in entries if isinstance(entry, Maintenance)]
    paused = in_maintenance(tests, pauses)
    for key, every in tests[[*TEST, *PLACE, *OF_RUN]].groupby(TEST, sort=True):
        runs, of_system = every, sessions[str(every["system"].iat[0])]
        if pauses:
            left_out = paused[every.index]
            of_system = outside(of_system, tests.loc[every.index[-1:]], pauses)
            runs, of_system = every[~left_out], of_system[~of_system.index.isin(every["session"][left_out])]
        if len(runs):
            found[cast(tuple, key)] = runs, of_system
    return found


def outside(sessions: pd.DataFrame, test: pd.DataFrame, entries: Iterable[Entry]) -> pd.DataFrame:
    """The sessions of a system that did not begin in maintenance of a test, a row of a case_table."""
    for entry in entries:
        if isinstance(entry, Maintenance) and entry.is_at(test).all():
            sessions = sessions[~sessions["session_time"].between(*entry.times)]
    return sessions


def sessions_of(cases: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """System to its sessions in their order: `session_time`, and a number for each `selection`, by the session's
    identifier."""
    each = tests_of(cases).groupby(["system", "session"])[["session_time", "selection"]].min()
    ordered = each.assign(selection=each["selection"].factorize()[0]).sort_values("session_time", kind="stable")
    return {str(system): of_system.droplevel("system") for system, of_system in ordered.groupby(level="system")}


def missed(having: Iterable[int], sessions: pd.DataFrame, once: bool = False) -> list[int]:
    """Places of the sessions of a system in which something was missed that the sessions `having` it (places) show.
    What was in one session is expected in the others if `once` is set."""
    seen, selections = np.zeros(len(sessions), dtype=bool), sessions["selection"].to_numpy()
    found: list[int] = []
    seen[list(having)] = True
    by_selection = np.argsort(selections, kind="stable")
    for alike in np.split(by_selection, np.flatnonzero(np.diff(selections[by_selection])) + 1):
        places = np.flatnonzero(seen[alike])
        if len(places) < (1 if once else 2):
            continue
        usual = np.median(np.diff(places)) if len(places) > 1 else 1
        if len(alike) - 1 - places[-1] >= usual:
            found += map(int, alike[places[-1] + 1 :])
    return sorted(found)


def places_of(some: Iterable[str], sessions: pd.DataFrame) -> set[int]:
    """The places of those of these sessions that are among those of a system."""
    return set(sessions.index.get_indexer(pd.Index(list(some))).tolist()) - {-1}


def completeness(
    cases: pd.DataFrame, expected: pd.DataFrame | None = None, entries: Iterable[Entry] = ()
) -> pd.DataFrame:
    """A row per test of a case_table: the columns of TEST and PLACE; `state`; for how many `sessions` of the system,
    and `since` the begin of which, there has been no value; the session of the `last_value`; and the `reason` of the
    last failure. A test that every session skipped is not a test of the site.

    `expected` is the case_table of a dry run: its tests that no session has are `not run`. `cases` has to contain the
    tests of all benchmarks, even if only some of them are of interest: the others tell that there was a session. What
    was in maintenance, of the entries of the site's file, is neither expected nor missed.
    """
    sessions = sessions_of(cases)
    listed = cases[:0] if expected is None else expected[expected["result"] != "skip"]
    wanted = with_names(listed).drop_duplicates(TEST).set_index(TEST, drop=False)
    tests = of_each_test(cases, entries)
    rows = [
        [*key, *runs[PLACE].iloc[-1], *of_test(runs, of_system, key in wanted.index)]
        for key, (runs, of_system) in tests.items()
        if not runs["result"].eq("skip").all() or key in wanted.index
    ]
    known = {tuple(row[: len(TEST)]) for row in rows}
    for place, key in enumerate(wanted.index):
        every = sessions.get(key[0])
        count = 0 if every is None else len(outside(every, wanted.iloc[[place]], entries))
        if key not in known and (count or every is None):
            rows.append([*key, *wanted[PLACE].iloc[place], NOT_RUN, count, pd.NaT, pd.NaT, ""])
    return pd.DataFrame(rows, columns=[*TEST, *PLACE, *DETAILS])


def of_test(runs: pd.DataFrame, sessions: pd.DataFrame, listed: bool) -> list:
    """DETAILS of the runs of one test, which may be on the list of expected tests."""
    times, places = sessions["session_time"], sessions.index.get_indexer(pd.Index(runs["session"]))
    last = max(places[runs["measured"]], default=-1)
    failed = set(places[places > last])
    absent = {place for place in missed(places[places >= 0], sessions, once=listed) if place > last}
    last_value = times.iloc[last] if last >= 0 else pd.NaT
    without = sorted(failed | absent)
    if not without:
        lost = lost_metrics(runs, sessions)
        if not lost:
            return [MEASURED, 0, pd.NaT, last_value, ""]
        places = sorted({place for gaps in lost.values() for place in gaps})
        return [INCOMPLETE, len(places), times.iloc[places[0]], last_value, f"no value of {', '.join(lost)}"]
    final = runs[places == places.max()].iloc[-1]
    state = NOT_RUN if without[-1] in absent else SKIPPED if final["result"] == "skip" else FAILED
    return [state, len(without), times.iloc[without[0]], last_value, final["reason"] if failed else ""]


def lost_metrics(runs: pd.DataFrame, sessions: pd.DataFrame) -> dict[str, list[int]]:
    """The metrics that the runs of one test had and no longer have, each with the places of the sessions that miss
    it."""
    having: dict[str, set[int]] = {}
    for metrics in runs["metrics"].unique():
        for metric in orjson.loads(metrics):
            sessions_with = runs["session"][runs["metrics"] == metrics]
            having.setdefault(metric, set()).update(places_of(sessions_with, sessions))
    gaps = {}
    for metric, seen in having.items():
        last = max(seen, default=-1)
        if later := [place for place in missed(seen, sessions) if place > last]:
            gaps[metric] = later
    return gaps


def without_value(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of `completeness` whose tests have no value now, the longest first."""
    return table[table["state"] != MEASURED].sort_values("sessions", ascending=False, kind="stable", ignore_index=True)
