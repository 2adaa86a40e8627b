# SPDX-License-Identifier: Apache-2.0
"""Changes of metrics in sentences and as plain values."""

import pandas as pd

from postprocess.show.words import counted, digits, printable, unit_word


def place(series: dict) -> str:
    options = f" ({series['settings']})" if series["settings"] else ""
    files = f", files on {series['file_system']}" if series["file_system"] else ""
    return printable(
        f"{series['benchmark']} {series['metric']} on {counted(series['processes'], 'process')} of "
        f"{series['system']}:{series['partition']}+{series['environ']}{files}{options}"
    )


def gap(row: dict) -> str:
    """A test without a value, a row of completeness.without_value."""
    what = f"{row['test']} on {row['system']}:{row['partition']}+{row['environ']}"
    since = f", since {row['since']:%Y-%m-%d %H:%M} UTC" if pd.notna(row["since"]) else ""
    last = f"{row['last_value']:%Y-%m-%d %H:%M} UTC" if pd.notna(row["last_value"]) else "never"
    reason = f": {row['reason']}" if row["reason"] else ""
    return printable(
        f"{what}: {row['state']} for {counted(row['sessions'], 'session')}{since}; last value: {last}{reason}"
    )


def as_object(finding) -> dict:
    """One change as plain values."""
    return finding.series | {
        "unit": finding.unit,
        "since": finding.time.isoformat(),
        "sessions": finding.lasted,
        "before": finding.change.before,
        "after": finding.change.after,
        "relative": finding.change.relative,
        "p_value": finding.change.p_value,
        "regression": finding.regression,
        "recovered": finding.recovered,
        "alarm": finding.alarms,
        "changed": list(finding.causes),
    }


def sentence(finding) -> str:
    """One change: what, how much, since when, and what else changed at that time."""
    change, unit = finding.change, unit_word(finding.unit)
    verdict = ("recovered since" if finding.recovered else "REGRESSION") if finding.regression else "changed"
    causes = printable("; ".join(finding.causes)) or "nothing recorded"
    return (
        f"{verdict}: {place(finding.series)}: {change.relative:+.1%} since {finding.time:%Y-%m-%d %H:%M} UTC, "
        f"{digits(change.before)} -> {digits(change.after)} {unit}, p = {change.p_value:.1g}, "
        f"lasting for {counted(finding.lasted, 'session')}. Changed at that time: {causes}"
    )
