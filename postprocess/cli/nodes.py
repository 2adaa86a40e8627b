# SPDX-License-Identifier: Apache-2.0
"""`coffeecup nodes`: which nodes are slow, over sessions."""

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.cli import options
from coffeecup.postprocess.cli.common import USAGE, exit_codes, known_entries, print_json, write_figures, write_text
from coffeecup.postprocess.cli.selection import Selection, expanded
from coffeecup.postprocess.show.words import counted, printable

if TYPE_CHECKING:
    import pandas as pd

    Tables = tuple[pd.DataFrame, pd.DataFrame]


class Format(StrEnum):
    """TEXT for people; SLURM for `scontrol`."""

    TEXT = "text"
    SLURM = "slurm"


@dataclass(frozen=True)
class Rolling:
    """What the mode `rolling` examines tonight."""

    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PARTITION",
            help="Print options of ReFrame that examine idle nodes of this partition of Slurm with --mode=rolling: "
            "suspects again, then those whose examination was longest ago.",
        ),
    ] = None
    node_hours: Annotated[
        float,
        typer.Option(metavar="H", callback=options.positive, help="Node hours that --plan may use each night."),
    ] = 4

    def print_plan(self, table: "pd.DataFrame", found: "pd.DataFrame") -> None:
        """Of a node_table and its summary. Raises BadParameter if Slurm does not know the partition, and typer.Exit if
        no group of nodes can be examined now."""
        from coffeecup.postprocess.benchmarks.benchmark import Form
        from coffeecup.postprocess.benchmarks.registry import benchmarks
        from coffeecup.postprocess.history.nodes import short
        from coffeecup.postprocess.history.rolling import MINUTES, plan
        from coffeecup.reframe_checks.batch import ask, slurm_idle

        if not ask("sinfo", "--noheader", f"--partition={self.plan}"):
            raise typer.BadParameter(f"--plan: Slurm does not answer, or has no partition {printable(repr(self.plan))}")
        idle, slow = slurm_idle(f"--partition={self.plan}"), found["node"][found["slow"].astype(bool)]
        table = table.assign(node=table["node"].map(short))
        groups = plan(table, set(slow.map(short)), idle, self.node_hours, datetime.now(UTC))
        if not groups:
            typer.echo(f"coffeecup: nothing to examine: {counted(len(idle), 'node')} of {self.plan} idle", err=True)
            raise typer.Exit(3)
        named = ",".join("+".join(group) for group in groups)
        for name in (name for name, benchmark in benchmarks().items() if Form.SWEEP in benchmark.forms):
            size, limit = f"-S {name}.num_nodes={len(groups[0])}", f"-S {name}.time_limit={MINUTES}m"
            typer.echo(f"{size} {limit} -P {name}.nodes={named}")


@exit_codes(
    {
        0: "no node is confirmed to be slow",
        1: "a node is confirmed to be slow, or several runs name the same link, or hang because of the same nodes",
        2: USAGE,
        3: "--plan: fewer than three nodes are idle, or the budget of this night is used up",
    }
)
@expanded()
def nodes(
    selection: Selection,
    rolling: Rolling,
    last: Annotated[
        int, typer.Option(metavar="N", min=1, help="Newest sessions of a test from which a node's effect is computed.")
    ] = 10,
    every: Annotated[
        bool, typer.Option("--all", help="List every node and server, not only slow ones and failed jobs.")
    ] = False,
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="slurm: print commands that drain the confirmed nodes, and suspects as comments. Nothing is drained.",
        ),
    ] = Format.TEXT,
    acknowledged: options.AcknowledgedFile = None,
    figures: options.Figures = None,
    as_json: options.AsJson = False,
) -> None:
    """List slow nodes, and slow servers of files: how slow compared with their peers, since when, and how often they
    were suspected; links that lose packets; nodes that keep others waiting; and the nodes of runs that hang."""
    from coffeecup.postprocess.history.nodes import as_servers, hangs, node_table, over_sessions, server_table, summary
    from coffeecup.postprocess.history.repeated import links
    from coffeecup.postprocess.reports.changes import hang_line, link_line

    plans = rolling.plan is not None
    if (as_json, form != Format.TEXT, plans).count(True) > 1 or (plans and figures):
        raise typer.BadParameter("choose one of --json, --format and --plan, and --plan without --figures")
    entries = known_entries(acknowledged)
    cases, values = selection.tables(entries=entries)
    chosen = selection.tests_in(cases)
    table = node_table(values, entries)
    found = summary(table, chosen, last)
    if plans:
        return rolling.print_plan(table, found)
    servers = over_sessions(of_servers := server_table(values), last)
    hung, lossy = hangs(chosen), links(chosen, last, entries)
    if as_json:
        print_json({"nodes": found, "servers": as_servers(servers), "hangs": hung, "links": lossy})
    elif form == Format.SLURM:
        commands = drains(found)
        typer.echo("\n".join(commands), nl=bool(commands))
    else:
        typer.echo("\n".join([*overview(found, every), *overview_of_servers(as_servers(servers), every)]))
        last_lines = [*map(link_line, lossy.to_dict("records")), *map(hang_line, hung.to_dict("records"))]
        typer.echo("".join(f"{line}\n" for line in last_lines), nl=False)
    if figures:
        write_all(figures, (table, found), (of_servers, servers))
    raise typer.Exit(1 if found["confirmed_now"].any() or hung["again"].any() or lossy["again"].any() else 0)


def write_all(folder: Path, of_nodes: "Tables", of_servers: "Tables") -> None:
    """Figures and tables, of a node_table and a server_table, each with its summary."""
    from coffeecup.postprocess.history import node_figures
    from coffeecup.postprocess.history.nodes import as_servers
    from coffeecup.postprocess.show.tables import csv_text

    drawn = [*node_figures.figures(*of_nodes), *node_figures.figures(*of_servers, "server")]
    write_figures(folder, [("coffeecup", figure) for figure in drawn])
    write_text(folder / "coffeecup-nodes.csv", csv_text(of_nodes[1]))
    write_text(folder / "coffeecup-servers.csv", csv_text(as_servers(of_servers[1])))


def drains(found: "pd.DataFrame") -> list[str]:
    """A line per named node: a command if its newest session confirmed it, otherwise a comment."""
    from coffeecup.postprocess.history.nodes import short
    from coffeecup.postprocess.reports.changes import node_effect

    named = found[found["confirmed_now"].astype(bool) | found["since"].notna()]
    text = {}
    for row in named.to_dict("records"):
        reason = f"coffeecup: {node_effect(row)}, {'confirmed' if row['confirmed_now'] else 'suspected only'}"
        command = f"scontrol update nodename={shlex.quote(short(row['node']))} state=drain reason={shlex.quote(reason)}"
        line = command if row["confirmed_now"] else f"# {command}"
        text[row["node"]] = min(text.get(row["node"], line), line, key=lambda known: known.startswith("#"))
    return [printable(line) for line in text.values()]


def overview(found: "pd.DataFrame", every: bool) -> list[str]:
    """A line per node and test of which there is something to tell, and what was examined."""
    from coffeecup.postprocess.history.node_figures import outstanding
    from coffeecup.postprocess.reports.changes import kind_lines, node_line

    if found.empty:
        return ["No selected session examined nodes: see docs/nodes.md for the tests that do, on three or more nodes."]
    known = outstanding(found) | found["failed"].gt(0)
    known |= found["suspected"].gt(0) & ~found["rolling"].astype(bool)
    count = counted(found[["system", "node"]].drop_duplicates().shape[0], "node")
    shown = found if every else found[known]
    rest = [] if every or len(shown) else ["None was suspected, and none took part in a failed job."]
    return [f"{count} examined.", *rest, *kind_lines(found), *(node_line(row) for row in shown.to_dict("records"))]


def overview_of_servers(found: "pd.DataFrame", every: bool) -> list[str]:
    """A line per server and test of which there is something to tell; none if no session compared servers."""
    from coffeecup.postprocess.reports.changes import server_line

    if found.empty:
        return []
    shown = found if every else found[found["slow"].astype(bool) | found["suspected"].gt(0)]
    rest = [] if len(shown) else ["None was suspected."]
    count = counted(found[["system", "server"]].drop_duplicates().shape[0], "server")
    return [f"{count} of files examined.", *rest, *(server_line(row) for row in shown.to_dict("records"))]
