# SPDX-License-Identifier: Apache-2.0
"""`coffeecup check-history --confirm`: the tests that are suspected after their last session run again, bounded in
number and time, by the command of this session."""

import math
import os
import re
import shlex
import signal
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from coffeecup.postprocess.logs.reader import LogError
from coffeecup.postprocess.logs.workers import end_by_exception
from coffeecup.postprocess.show.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from coffeecup.postprocess.sessions.files import SessionReport

CONFIRMED, REFUTED, NO_VALUE, NOT_RERUN = "confirmed", "refuted", "no value", "not rerun"
REPEATS = 3
REPEATED = f"--repeat={REPEATS}"
SELECTING = ("-n", "--name", "--repeat", "--reruns", "--duration")  # ReFrame's options that are replaced, with a value
GRACE = 60.0  # seconds in which ReFrame ends its jobs
REPORT = "confirmation.json"  # no session*.json, which a history would read


def selecting(name: str) -> str:
    """The expression for ReFrame's -n that selects the test of this name alone: the name without what --repeat and
    --distribute added."""
    return f"^{re.escape(re.sub(r' %[.][^ ]*', '', name).replace(' ', ''))}$"


def confirm(
    suspected: "pd.DataFrame", sources: list[Path], newest: datetime, most_tests: int, minutes: float
) -> "pd.DataFrame":
    """The rows of suspicions.suspicions with `confirmation`, the value `again` and, if there is none, the `reason`.

    The tests of the last day of sessions, until the `newest`, that deviate most, `most_tests` at most, run again within
    so many minutes. What they measure enters no history: only low values are measured again, so it would shift the
    levels."""
    from coffeecup.postprocess.sessions.files import read_reports

    since = newest - timedelta(days=1)
    severity = (suspected["value"] - suspected["level"]) / (suspected["limit"] - suspected["level"])
    found = suspected.assign(test=suspected["name"].map(selecting), severity=severity, confirmation=NOT_RERUN)
    found = found.assign(again=math.nan, reason="").sort_values("severity", ascending=False, ignore_index=True)
    chosen = found[found["session_time"] > since].drop_duplicates(["session", "test"]).head(most_tests)
    end = time.monotonic() + 60 * minutes
    reports = {report.info["uuid"]: report for report in read_reports(sources, since)} if len(chosen) else {}
    for session, tests in chosen.groupby("session", sort=False):
        values, reason = rerun(reports[str(session)], tests["test"].tolist(), end - time.monotonic())
        for place in found.index[(found["session"] == session) & found["test"].isin(tests["test"])]:
            again = value_of(values, found.loc[place])
            found.loc[place, "confirmation"] = judged(found.loc[place], again)
            found.loc[place, "again"], found.loc[place, "reason"] = again, reason
    return found


def judged(row: "pd.Series", again: float) -> str:
    """Whether the value of the rerun is beyond the limit, too."""
    if math.isnan(again):
        return NO_VALUE
    return CONFIRMED if (again - row["limit"]) * (row["limit"] - row["level"]) > 0 else REFUTED


def value_of(values: "pd.DataFrame | None", row: "pd.Series") -> float:
    """The value of the row's series, NaN if there is none."""
    from coffeecup.postprocess.history.table import SERIES

    same = [] if values is None else values[(values[SERIES] == row[SERIES]).all(axis=1)]["value"].tolist()
    return same[-1] if same else math.nan


def rerun(report: "SessionReport", tests: list[str], seconds: float) -> "tuple[pd.DataFrame | None, str]":
    """The session_values of a session with these tests alone, and where its files are, or why it has no values."""
    from coffeecup.postprocess.history.cases import OF_ONE_SESSION, arguments
    from coffeecup.postprocess.history.change_points import session_values
    from coffeecup.postprocess.history.table import history_table
    from coffeecup.postprocess.sessions.files import read_reports

    recorded, there = report.info.get("cmdline") or "", Path(report.info.get("workdir") or "")
    if not recorded or not there.is_absolute() or not there.is_dir():
        return None, "the session does not state a command and a directory of this machine"
    folder = Path(report.info.get("prefix_output") or there / "output").parent
    folder = folder / "confirm" / f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
    try:
        command = [*shlex.split(recorded)[:1], *arguments(recorded, (*OF_ONE_SESSION, *SELECTING)), REPEATED]
        command += [f"--prefix={folder}", f"--perflogdir={folder / 'perflogs'}", f"--report-file={folder / REPORT}"]
        command += [word for test in tests for word in ("-n", test)]
        folder.mkdir(parents=True)
        reason = ended(command, there, folder / "output.txt", seconds)
    except (OSError, ValueError) as error:  # a directory or program that cannot be used, or an odd quote
        return None, f"its command cannot run: {error}"
    if reason:
        return None, f"{reason}; its output is in {folder}"
    try:
        return session_values(history_table(read_reports([folder / REPORT]))), f"the runs are in {folder}"
    except LogError as error:
        return None, str(error)


def ended(command: list[str], there: Path, output: Path, seconds: float) -> str:
    """Runs ReFrame, whose results database stays as it is, for so many seconds at most; returns why it did not end by
    itself, or empty text. SIGTERM and SIGHUP end it, too, and then this process; ReFrame also ends after SIGKILL."""
    from coffeecup.postprocess.cli.alternation import end, end_with_parent

    environment = os.environ | {"RFM_ENABLE_RESULTS_STORAGE": "0"}
    end_by_exception()
    with output.open("wb") as file:
        apart = {"start_new_session": True, "preexec_fn": end_with_parent}  # no thread runs here
        process = subprocess.Popen(command, cwd=there, env=environment, stdout=file, stderr=subprocess.STDOUT, **apart)
        try:
            process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            return f"the rerun did not end within {counted(round(seconds), 'second')}"
        finally:
            end(process, [], command, GRACE)  # also if a script that calls ReFrame ended before it
            end_all_in(output.parent.resolve())
    return ""


def end_all_in(folder: Path) -> None:
    """Ends jobs on this machine that ReFrame was just starting when a signal came, which it does not know of. Each runs
    in a session of its own, in its stage directory."""
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):  # of another user, or it ended meanwhile
            if entry.readlink().is_relative_to(folder):
                os.kill(int(entry.parent.name), signal.SIGKILL)
