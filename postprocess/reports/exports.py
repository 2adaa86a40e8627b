# SPDX-License-Identifier: Apache-2.0
"""Sessions in formats of other programs: JUnit XML with the metrics for CI systems, OpenMetrics text for monitoring."""

from collections import Counter, defaultdict
from typing import cast
from xml.etree import ElementTree

import pandas as pd

from coffeecup.postprocess.history.cases import FAILURES
from coffeecup.postprocess.history.completeness import INCOMPLETE, NOT_RUN, sessions_of
from coffeecup.postprocess.history.events import Event
from coffeecup.postprocess.history.table import SERIES
from coffeecup.postprocess.reports.changes import gap, metrics_of, sentence, verdict
from coffeecup.postprocess.show.tables import each_row
from coffeecup.postprocess.show.words import printable, unit_word

# Label values in OpenMetrics: backslash, quote and line feed are escaped; other characters stay.
ESCAPED = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}  # of JUnit: element and attribute of a suite
# Verdict to whether it is a failure.
FAILS = {"pass": 0.0, "unexpected pass": 0.0, "fail": 1.0, "expected failure": 1.0, "no value": 1.0}
PLACE = ("benchmark", "system", "partition", "environ", "node", "file_system", "processes")


def junit(cases: pd.DataFrame, history: pd.DataFrame, tests: pd.DataFrame, found: list[Event]) -> str:
    """JUnit XML: a suite per session, a case per row of the case_table, and each metric of the history_table with its
    value, reference, bounds and outcome as a line of the case's output, because Jenkins' schema (junit-10.xsd of its
    xUnit plugin) refuses properties of a case. In the newest session of a system, a test that did not run or lacks a
    metric, of a table of completeness, is an error, and an event that alarms a failure; one that was acknowledged is
    skipped. Further cases with the same name, such as those of repeated runs, are numbered: GitLab ignores them
    otherwise, whatever their outcome."""
    root = ElementTree.Element("testsuites", name="coffeecup")
    measured = dict(list(history.groupby("case", sort=False)))
    newest = {system: times.index[-1] for system, times in sessions_of(cases).items()}
    of_system = defaultdict(list)
    for row in each_row(tests[tests["state"].isin((NOT_RUN, INCOMPLETE))]):
        of_system[row.system].append(element(row, on_node(row.test, row.node), error=gap(row._asdict())))
    for event in [event for event in found if event.alarming]:
        message = {"skipped" if event.acknowledged else "failure": f"{verdict(event)}: {sentence(event)}"}
        of_system[event.system].append(case_of(f"{event.system}.history", event.name, **message))
    for (session, begun), alike in cases.groupby(["session", "session_time"], sort=False):
        made = [of_case(row, measured.get(row.case)) for row in each_row(alike)]
        made += [more for system, name in newest.items() if name == session for more in of_system[system]]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=str(session),
            timestamp=cast(pd.Timestamp, begun).strftime("%Y-%m-%dT%H:%M:%S"),
            tests=str(len(made)),
        )
        for tag, counter in COUNTED.items():
            suite.set(counter, str(sum(case.find(tag) is not None for case in made)))
        names = Counter()
        for case in made:
            names[name := (case.get("classname"), case.get("name"))] += 1
            if names[name] > 1:
                case.set("name", f"{case.get('name')} ({names[name]})")
        suite.extend(made)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def element(row, name: str, **message: str) -> ElementTree.Element:
    """A test case of a row; `message` is the text of its `error`, `failure` or `skipped`."""
    return case_of(f"{row.system}:{row.partition}+{row.environ}.{row.benchmark}", name, **message)


def case_of(place: str, name: str, **message: str) -> ElementTree.Element:
    made = ElementTree.Element("testcase", name=printable(name), classname=printable(place))
    for tag, text in message.items():
        ElementTree.SubElement(made, tag, message=printable(text))
    return made


def on_node(test: str, node: str) -> str:
    return f"{test} on {node}" if node else test


def of_case(row, metrics: pd.DataFrame | None) -> ElementTree.Element:
    made = element(row, on_node(row.name, row.node))
    if row.result in FAILURES:
        ElementTree.SubElement(made, "failure", message=printable(row.reason or "no reason was recorded"))
    elif row.result == "skip":
        ElementTree.SubElement(made, "skipped")
    if metrics is not None and len(metrics):
        ElementTree.SubElement(made, "system-out").text = "\n".join(map(line_of, each_row(metrics)))
    return made


def line_of(metric) -> str:
    """A metric with its unit, reference and bounds in full precision, and its outcome."""
    numbers = {"reference": metric.reference, "lower bound": metric.lower, "upper bound": metric.upper}
    known = "no value" if pd.isna(metric.value) else f"{float(metric.value)!r} {unit_word(metric.unit)}".rstrip()
    limits = "".join(f", {name} {float(number)!r}" for name, number in numbers.items() if pd.notna(number))
    return printable(f"{metric.metric}: {known}{limits}; {metric.outcome}")


def openmetrics(standing: pd.DataFrame, tests: pd.DataFrame, found: list[Event], hangs: pd.DataFrame) -> str:
    """OpenMetrics text of the last session of every series, from a table of standing.standing: the value, its reference
    and bounds, and 1 if it fails, has no value or is worse than before; and of every test of a table of completeness,
    for how many sessions it has had no value; and of every event that is not over, whether it alarms, and the slow
    nodes that explain it; and the counts of a table of history.nodes.hangs."""
    worse = {tuple(one.series.values()) for event in found for one in event.findings if one.alarms and not one.accepted}
    families = {
        "coffeecup_result": ("Value of the last session, in the unit of the label.", standing["last"]),
        "coffeecup_level": ("Median of the sessions since the last change.", standing["median"]),
        "coffeecup_reference": ("ReFrame's reference.", standing["reference"]),
        "coffeecup_lower_bound": ("Least value that passes.", standing["lower"]),
        "coffeecup_upper_bound": ("Largest value that passes.", standing["upper"]),
        "coffeecup_failed": (
            "1 if the last session is outside the bounds, or has no value.",
            standing["verdict"].map(FAILS),
        ),
        "coffeecup_regression": (
            "1 if the level got worse, or may have, and has not recovered.",
            pd.Series([float(key in worse) for key in map(tuple, standing[SERIES].to_numpy().tolist())]),
        ),
        "coffeecup_session_seconds": (
            "When the last session began, in seconds since 1970.",
            standing["time"].map(pd.Timestamp.timestamp),
        ),
    }
    of_series = labels(standing, (*PLACE, "settings", "metric", "unit"))
    lines = [line for name, (text, values) in families.items() for line in family(name, text, of_series, values)]
    lines += family(
        "coffeecup_sessions_without_value",
        "For how many sessions a test has failed or has not run.",
        labels(tests, (*PLACE, "test")),
        tests["sessions"],
    )
    lasting = [event for event in found if event.alarming]
    lines += family(
        "coffeecup_event_alarms",
        "1 if an event for the worse, or of unknown direction, alarms, 0 if it was acknowledged.",
        [event_labels(event) for event in lasting],
        pd.Series([event.alarms for event in lasting], dtype=float),
    )
    slow = [(event, node) for event in lasting for node in event.nodes]
    lines += family(
        "coffeecup_event_slow_node",
        "1 if a node that explains an event was confirmed to be slow, 0 if it was suspected only.",
        [label_text({"system": event.system, "event": event.name, "node": node.name}) for event, node in slow],
        pd.Series([node.confirmed for _, node in slow], dtype=float),
    )
    return "\n".join([*lines, *family_of_hangs(hangs), "# EOF"]) + "\n"


def family_of_hangs(hangs: pd.DataFrame) -> list[str]:
    of_nodes = [label_text({"system": row.system, "nodes": " ".join(row.nodes)}) for row in each_row(hangs)]
    return family(
        "coffeecup_hangs", "How many runs hung because of these nodes, or of unknown ones.", of_nodes, hangs["hangs"]
    )


def event_labels(event: Event) -> str:
    named = {"system": event.system, "event": event.name, "scope": event.scope, "metrics": metrics_of(event)}
    return label_text(named)


def labels(table: pd.DataFrame, names: tuple[str, ...]) -> list[str]:
    return [label_text({name: str(getattr(row, name)) for name in names}) for row in each_row(table)]


def label_text(named: dict[str, str]) -> str:
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in named.items()) + "}"


def escaped(text: str) -> str:
    return "".join(ESCAPED.get(character) or printable(character).replace("\\", ESCAPED["\\"]) for character in text)


def family(name: str, text: str, labels: list[str], values: pd.Series) -> list[str]:
    samples = [f"{name}{label} {float(value)!r}" for label, value in zip(labels, values) if pd.notna(value)]
    return [f"# TYPE {name} gauge", f"# HELP {name} {text}", *samples]
