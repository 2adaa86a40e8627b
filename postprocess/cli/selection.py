# SPDX-License-Identifier: Apache-2.0
"""Which sessions and which of their results a command uses: the argument and the filters of all commands that read
sessions."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime, time
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.show.words import printable

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.history.reading import Session
    from coffeecup.postprocess.history.site_files import Entry

OF_A_TEST = ("system", "partition", "benchmark")  # filters that select tests; `metric` selects among their results
SHOWN = 20  # values that a message lists


def moment(text: str, clock: time) -> datetime:
    """A point in time in UTC, from a date with or without a time of the day."""
    try:
        found = datetime.strptime(text, "%Y-%m-%dT%H:%M:%S" if "T" in text else "%Y-%m-%d")  # noqa: DTZ007
    except ValueError:
        raise typer.BadParameter(
            f"{printable(text)!r} is not a date: use YYYY-MM-DD or YYYY-MM-DDTHH:MM:SS, in UTC"
        ) from None
    return datetime.combine(found, found.time() if "T" in text else clock, tzinfo=UTC)


def begin_of(text: str) -> datetime:
    """The first moment of a date, UTC; `--since`. Raises BadParameter."""
    return moment(text, time.min)


def end_of(text: str) -> datetime:
    """The last moment of a date, UTC; `--until`. Raises BadParameter."""
    return moment(text, time.max)


def filter_option(what: str):
    return typer.Option(metavar="NAME", help=f"Only this {what}; may be repeated.")


Sources = Annotated[
    list[Path],
    typer.Argument(
        metavar="SESSIONS...",
        help="ReFrame session reports (--report-file), results databases of ReFrame, or directories with "
        "session*.json at any depth.",
    ),
]


@dataclass(frozen=True)
class Selection:
    """Sessions, and the filters of their results. A filter that matches nothing is an error that lists what there
    is."""

    sources: Sources
    since: Annotated[
        datetime | None,
        typer.Option(metavar="DATE", parser=begin_of, help="Ignore sessions that started earlier (UTC)."),
    ] = None
    until: Annotated[
        datetime | None,
        typer.Option(
            metavar="DATE", parser=end_of, help="Ignore sessions that started later (UTC); a day is included."
        ),
    ] = None
    system: Annotated[list[str] | None, filter_option("system")] = None
    partition: Annotated[list[str] | None, filter_option("partition, as NAME or SYSTEM:NAME")] = None
    benchmark: Annotated[list[str] | None, filter_option("benchmark")] = None
    metric: Annotated[list[str] | None, filter_option("metric")] = None

    @property
    def is_part(self) -> bool:
        """Whether any filter is used."""
        return any(value for name, value in vars(self).items() if name != "sources")

    def sessions(self) -> "list[Session]":
        """The sessions. Raises BadParameter if there are none, or if they cannot be read."""
        from coffeecup.postprocess.history.reading import read_sessions

        try:
            read = read_sessions(self.sources, self.since, self.until)
            there = read or read_sessions(self.sources)
        except LogError as error:
            raise typer.BadParameter(str(error)) from None
        if not there:
            raise typer.BadParameter("there is no session in " + ", ".join(printable(str(p)) for p in self.sources))
        if not read:
            first, last = (day(session.begun) for session in (there[0], there[-1]))
            raise typer.BadParameter(f"no session began in the chosen time; there are sessions from {first} to {last}")
        return read

    def tables(self, systems: bool = False, entries: "Iterable[Entry]" = ()) -> "tuple[pd.DataFrame, pd.DataFrame]":
        """The case table of the selected systems, and the selected rows of the history table, with those of
        history.systems on request, and without those in maintenance, of the entries of the site's file. The case table
        contains the tests of other partitions and benchmarks, too, which tell that there was a session. Raises
        BadParameter if a filter matches nothing."""
        from coffeecup.postprocess.history.site_files import in_maintenance
        from coffeecup.postprocess.history.systems import expecting_systems, with_systems
        from coffeecup.postprocess.history.table import tables

        cases, table = tables(session.columns for session in self.sessions())
        table = table[~in_maintenance(table, entries)]
        if cases.empty:
            raise typer.BadParameter("these sessions contain no test with performance variables")
        cases = matching(cases, "system", self.system)
        if systems:
            table = with_systems(table)
            cases = expecting_systems(cases, table)
        chosen = matching(matching(cases, "partition", self.partition), "benchmark", self.benchmark)
        return cases, matching(table[table["case"].isin(chosen["case"])], "metric", self.metric)

    def values(self) -> "pd.DataFrame":
        """The selected rows of the history table. Raises BadParameter if none has a value."""
        _, table = self.tables()
        if table["value"].isna().all():
            raise typer.BadParameter("no selected session has a value: `coffeecup check-history` states the reasons")
        return table

    def tests_in(self, table: "pd.DataFrame") -> "pd.DataFrame":
        """The rows of the selected tests in a table with their places, such as that of completeness."""
        for name in OF_A_TEST:
            table = rows_with(table, name, getattr(self, name))
        return table


def day(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def names_in(table: "pd.DataFrame", name: str) -> "list[pd.Series]":
    """What a value of the filter may be equal to; the last one is listed."""
    full = [table["system"] + ":" + table["partition"]] if name == "partition" else []
    return [table[name], *full]


def rows_with(table: "pd.DataFrame", name: str, values: list[str] | None) -> "pd.DataFrame":
    if not values:
        return table
    first, *others = (names.isin(values) for names in names_in(table, name))
    return table[first | others[0] if others else first]


def matching(table: "pd.DataFrame", name: str, values: list[str] | None) -> "pd.DataFrame":
    """The rows that one of the values selects, all without values. Raises BadParameter for a value that selects
    none."""
    for value in values or ():
        if rows_with(table, name, [value]).empty:
            there = sorted(set(names_in(table, name)[-1]))
            listed = ", ".join(printable(repr(known)) for known in there[:SHOWN]) or "none"
            more = f" and {len(there) - SHOWN} more" if len(there) > SHOWN else ""
            raise typer.BadParameter(f"--{name}: no result has {printable(repr(value))}; there are {listed}{more}")
    return rows_with(table, name, values)


def expanded(*left_out: str) -> Callable:
    """Decorator: each field of a parameter of the command that is a dataclass, such as a Selection, becomes an argument
    or option of the command, except those that are left out."""

    def decorate(command: Callable) -> Callable:
        own = inspect.signature(command).parameters.values()
        types = {given.name: given.annotation for given in own}
        classes = {name: kind for name, kind in types.items() if isinstance(kind, type) and is_dataclass(kind)}
        fields = {
            name: [field for field in inspect.signature(kind).parameters.values() if field.name not in left_out]
            for name, kind in classes.items()
        }

        @wraps(command)
        def run(**given):
            made = {
                name: kind(**{field.name: given.pop(field.name) for field in fields[name]})
                for name, kind in classes.items()
            }
            return command(**made, **given)

        parameters = [
            field.replace(kind=field.KEYWORD_ONLY) for given in own for field in fields.get(given.name, [given])
        ]
        run.__dict__.pop("__wrapped__")
        run.__dict__["__signature__"] = inspect.Signature(parameters)
        run.__annotations__ = {field.name: field.annotation for field in parameters}
        return run

    return decorate
