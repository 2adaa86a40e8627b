# SPDX-License-Identifier: Apache-2.0
"""A site's page: the state of all benchmarks over the sessions that ReFrame stored, as one HTML file that opens offline
and can be printed and filed. What is new, an overview of the headlines, a part for each benchmark with every metric,
its trend and its scaling. Every figure and table can be written to files as well.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

import jinja2
import numpy as np
import pandas as pd

from coffeecup import __version__
from coffeecup.postprocess.benchmarks.registry import reasons
from coffeecup.postprocess.history import node_figures
from coffeecup.postprocess.history.change_points import Finding
from coffeecup.postprocess.history.comparable import same_units
from coffeecup.postprocess.history.completeness import without_value
from coffeecup.postprocess.history.events import Event
from coffeecup.postprocess.history.figures import WITHOUT_SIZE, trends
from coffeecup.postprocess.history.nodes import LAST, as_servers, hangs, over_sessions, summary
from coffeecup.postprocess.history.power import SOON
from coffeecup.postprocess.history.repeated import links as lossy_links
from coffeecup.postprocess.history.site_files import Entry
from coffeecup.postprocess.history.standing import TOO_FEW, headlines, scaling, standing
from coffeecup.postprocess.history.table import SERIES, WITHOUT_PROCESSES
from coffeecup.postprocess.reports import changes, morning, site_figures
from coffeecup.postprocess.show.html import environment
from coffeecup.postprocess.show.plots import Figure
from coffeecup.postprocess.show.words import file_word

MOST_TRENDS = 24  # metrics and places whose trend is drawn, so that a browser shows a large site at once
SPARKS = 60
MOST_OPEN = 200  # rows of metrics that are not folded
GROUP = ["system", "partition", "environ", "file_system", "settings"]


@dataclass(frozen=True)
class Part:
    """The part of a benchmark: its rows of the standing, and its figures."""

    benchmark: str
    table: pd.DataFrame
    figures: list[Figure]

    @property
    def groups(self) -> list[tuple[pd.Series, pd.DataFrame]]:
        """What is common, and the rows, of each place and set of options."""
        alike = self.table.groupby(GROUP, sort=False, observed=True)
        return [(rows.iloc[0][["benchmark", *GROUP]], rows) for _, rows in alike]


@dataclass(frozen=True)
class SitePage:
    """What the page shows. `tests` counts them, `missing` are those without a value, a table of completeness. `nodes`
    and `servers` are those that stand out of the `examined` and `examined_servers`, tables of history.nodes.summary and
    as_servers. `hangs` are those of history.nodes, `lossy` those of history.repeated.links.
    `sessions` counts them, `since` and `until` are the first and the last. `headlines` have the points of a
    `sparkline`; `drawn` of `places` have a figure."""

    tests: int
    missing: pd.DataFrame
    nodes: pd.DataFrame
    servers: pd.DataFrame
    hangs: pd.DataFrame
    lossy: pd.DataFrame
    node_figures: list[Figure]
    headlines: pd.DataFrame
    parts: list[Part]
    events: list[Event]
    sessions: int
    since: pd.Timestamp
    until: pd.Timestamp
    examined: int
    examined_servers: int
    drawn: int
    places: int

    @property
    def overview(self) -> pd.DataFrame:
        """The headlines at the largest size of each place."""
        return self.headlines.groupby(WITHOUT_PROCESSES, sort=False, observed=True).tail(1)

    @property
    def slow_nodes(self) -> list[str]:
        """The names of nodes that the newest session confirmed to be slow."""
        return sorted({row["node"] for row in self.nodes.to_dict("records") if row["confirmed_now"]})

    @property
    def not_judged(self) -> tuple[int, int]:
        """How many series have too few sessions, and how many there are."""
        trends = [trend for part in self.parts for trend in part.table["trend"]]
        return trends.count(TOO_FEW), len(trends)

    @property
    def figures(self) -> list[Figure]:
        of_parts = [figure for part in self.parts for figure in part.figures]
        return [*self.node_figures, *of_parts]


def site_page(
    values: pd.DataFrame,
    found: list[Event],
    cases: pd.DataFrame,
    tests: pd.DataFrame,
    of_nodes: tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame],
    entries: Iterable[Entry] = (),
    losses: Mapping[tuple, float] = MappingProxyType({}),
) -> SitePage:
    """The page of a table of change_points.session_values with its events, the case_table of the same sessions, its
    completeness; and a node_table, a server_table and the part of the case_table that the section on nodes is about.
    `entries` are those of the site's file, `losses` of power.detectable."""
    findings = [finding for event in found for finding in event.findings]
    table = standing(values, findings, cases, entries, losses)
    front = headlines(table)
    shown = first_to_see(front, findings)
    over_sizes = scaling(table).merge(shown)
    chosen = same_units(values).merge(front[SERIES], on=SERIES)
    front = front.assign(sparkline=sparklines(chosen, front))
    chosen = chosen.merge(shown)
    parts = [part(name, table, chosen, over_sizes, findings) for name in table["benchmark"].unique()]
    times = cases["session_time"]
    nodes, servers, examining = of_nodes
    effects, of_servers = summary(nodes, examining), over_sessions(servers)
    return SitePage(
        len(tests),
        without_value(tests),
        effects[node_figures.outstanding(effects)],
        as_servers(of_servers[node_figures.outstanding(of_servers)]),
        hangs(examining),
        lossy_links(examining, LAST, entries),
        [*node_figures.figures(nodes, effects), *node_figures.figures(servers, of_servers, "server")],
        front,
        parts,
        found,
        cases["session"].nunique(),
        times.min(),
        times.max(),
        len(effects[["system", "node"]].drop_duplicates()),
        len(of_servers[["system", "node"]].drop_duplicates()),
        len(shown),
        len(front[WITHOUT_SIZE].drop_duplicates()),
    )


def part(
    name: str, table: pd.DataFrame, chosen: pd.DataFrame, over_sizes: pd.DataFrame, findings: list[Finding]
) -> Part:
    """The part of a benchmark, from the rows of all benchmarks."""
    own, values, sizes = (rows[rows["benchmark"] == name] for rows in (table, chosen, over_sizes))
    return Part(name, own, [*trends(values, findings), *scaled(sizes)])


def first_to_see(front: pd.DataFrame, findings: list[Finding]) -> pd.DataFrame:
    """The MOST_TRENDS metrics and places, of headlines, that are drawn: those that alarm first, then those that
    changed, then those whose last value is out of bounds or missing."""
    alarmed, changed = (
        {tuple(one.series.values()) for one in findings if one.alarms or not only} for only in (True, False)
    )
    keys = list(map(tuple, front[SERIES].to_numpy().tolist()))
    bad = front["verdict"].isin(["fail", "no value"])
    rank = [4 * (key in alarmed) + 2 * (key in changed) + fails for key, fails in zip(keys, bad)]
    best = front.assign(rank=rank).groupby(WITHOUT_SIZE, sort=False, observed=True)["rank"].max()
    return best.nlargest(MOST_TRENDS).index.to_frame(index=False)


def sparklines(values: pd.DataFrame, front: pd.DataFrame) -> list[str]:
    """The points of a line of 100 by 20 through the last SPARKS values of each of these headlines."""
    alike = {key: series.to_numpy()[-SPARKS:] for key, series in values.groupby(SERIES, observed=True)["value"]}
    return [points(alike[tuple(key)]) for key in front[SERIES].to_numpy().tolist()]


def points(values: np.ndarray) -> str:
    """5 % of the level to both sides, or the range of the values if that is larger."""
    middle, least = np.median(values), 0.05 * abs(np.median(values))
    low, high = min(values.min(), middle - least), max(values.max(), middle + least)
    across = np.linspace(1, 99, len(values)) if len(values) > 1 else [50]
    return " ".join(f"{x:.0f},{19 - 18 * (y - low) / ((high - low) or 1):.1f}" for x, y in zip(across, values))


def scaled(table: pd.DataFrame) -> list[Figure]:
    return [site_figures.scaling(table)] if len(table) else []


def html(
    page: SitePage,
    command: str,
    remarks: list[str],
    links: Mapping[str, str] = MappingProxyType({}),
    lines: Iterable[morning.Line] = (),
) -> str:
    """The page. `links` has the report on a log by the log's SHA-256 (drill_down.report_links), `lines` are those of
    morning.lines. The page runs its own script only, which filters it; its Content-Security-Policy has the hash."""
    script = files("coffeecup.postprocess.reports").joinpath("templates/site.js").read_text()
    sizes = dict(iter(page.headlines.groupby(WITHOUT_PROCESSES, sort=False, observed=True)))
    return (
        environment(jinja2.PackageLoader("coffeecup.postprocess.reports"))
        .get_template("site.html.j2")
        .render(
            page=page,
            links=links,
            command=command,
            version=__version__,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            label=site_figures.label,
            place=site_figures.place,
            soon=SOON,
            reasons=reasons,
            node_line=changes.node_line,
            hang_line=changes.hang_line,
            link_line=changes.link_line,
            server_line=changes.server_line,
            lines=list(lines),
            sizes=lambda row: sizes[tuple(getattr(row, name) for name in WITHOUT_PROCESSES)],
            standing=bad_rows,
            filters=filters(page),
            folded=sum(len(part.table) for part in page.parts) > MOST_OPEN,
            script=script,
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            remarks=remarks,
        )
    )


def bad_rows(table: pd.DataFrame) -> list[tuple[str, int]]:
    """How many rows of a standing are worse, out of bounds or without a value, as words and numbers that are not 0."""
    counts = [
        ("worse", int(table["trend"].str.startswith("worse").sum())),
        ("out of bounds", int((table["verdict"] == "fail").sum())),
        ("without a value", int((table["verdict"] == "no value").sum())),
    ]
    return [(word, count) for word, count in counts if count]


def filters(page: SitePage) -> dict[str, list[str]]:
    """The values of each filter that can be chosen."""
    tables = [part.table for part in page.parts]
    rows = pd.concat([table[["system", *morning.FILTERS]].drop_duplicates() for table in tables]).to_dict("records")
    every = {name: sorted({morning.name_of(row, name) for row in rows} - {""}) for name in morning.FILTERS}
    return {name: values for name, values in every.items() if len(values) > 1}


def as_object(page: SitePage, lines: Iterable[morning.Line] = ()) -> dict:
    """What the page shows as plain values and tables."""
    return {
        "lines": morning.objects(lines),
        "sessions": page.sessions,
        "since": page.since,
        "until": page.until,
        "tests": page.tests,
        "missing": page.missing,
        "series": pd.concat([part.table for part in page.parts]),
        **changes.objects(page.events),
    }


def tables(page: SitePage) -> dict[str, pd.DataFrame]:
    """Every table of the page, by the name of its file."""
    named = {
        "site-missing": page.missing,
        "site-overview": page.overview,
        "site-nodes": page.nodes,
        "site-servers": page.servers,
    }
    return named | {f"site-{file_word(part.benchmark)}-metrics": part.table for part in page.parts}
