# SPDX-License-Identifier: Apache-2.0
"""Facts of a site over time, such as what its monitoring recorded: a CSV file of times and values."""

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pandas as pd

from coffeecup.postprocess.history.site_files import SiteFileError
from coffeecup.postprocess.logs import paths

LARGEST = 2**26  # bytes: a value of 20 facts each minute of a year takes about as many
NEAR = timedelta(hours=12)  # a value from longer before or after a run says nothing about it
TIME = "time"


def read_facts(path: Path) -> pd.DataFrame:
    """The facts by time (UTC), a text column each. The first column of the file is the time: ISO 8601, in UTC without
    a zone, or seconds or milliseconds since 1970. Raises SiteFileError, which names the line and its fault."""
    try:
        rows = list(csv.reader(paths.content(path, LARGEST).decode("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SiteFileError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    names = [name.strip() for name in rows[0]] if rows else []
    if len(names) < 2 or names[0].lower() != TIME or not all(names) or len(set(names)) < len(names):
        raise SiteFileError(f'{path}: line 1 must name the columns: "{TIME}" first, then different names of facts')
    times = []
    for line, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise SiteFileError(f"{path}: line {line} has {len(row)} values, line 1 has {len(names)}")
        try:
            times.append(time_of(row[0].strip()))
        except (ValueError, OverflowError):
            raise SiteFileError(f"{path}: line {line}: {row[0]!r} is not a time such as 2026-02-03T02:00") from None
    table = pd.DataFrame([row[1:] for row in rows[1:]], pd.DatetimeIndex(times, tz=UTC), names[1:], dtype=str)
    return table[~table.index.duplicated(keep="last")].sort_index()


def time_of(text: str) -> datetime:
    """Milliseconds are recognized by their number: so many seconds are after the year 5000."""
    try:
        seconds = float(text)
    except ValueError:
        time = datetime.fromisoformat(text)
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)


def with_facts(values: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """A table of session_values whose rows have the facts that were recorded nearest to the begin of their session, at
    most NEAR away."""
    times = pd.DatetimeIndex(values["session_time"])
    places = facts.index.get_indexer(times, method="nearest", tolerance=pd.Timedelta(NEAR)).tolist()
    recorded = [{name: value for name, value in row.items() if value.strip()} for row in facts.to_dict("records")]
    known: dict[tuple[str, int], str] = {}
    for text, place in set(zip(values["facts"], places)):
        more = recorded[place] if place >= 0 else {}
        known[text, place] = orjson.dumps(orjson.loads(text) | more, option=orjson.OPT_SORT_KEYS).decode()
    return values.assign(facts=[known[pair] for pair in zip(values["facts"], places)])
