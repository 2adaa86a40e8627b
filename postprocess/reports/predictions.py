# SPDX-License-Identifier: Apache-2.0
"""Predictions as text: several designs side by side, always marked as predicted."""

from rich.console import Console
from rich.text import Text

from coffeecup.postprocess.benchmarks.predicted import Comparison, Estimate, Prediction, limited_by
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, digits, printable, unit_word


def terminal_text(predictions: list[Prediction]) -> str:
    """A table with a column per design, as wide as its numbers need, and what limits each pattern."""
    table = simple_table()
    table.add_column("metric", no_wrap=True)
    for each in predictions:
        head = f"{printable(each.design)}\n{counted(each.processes, 'process')}, {counted(each.nodes, 'node')}"
        table.add_column(head, justify="right", no_wrap=True)
    for name, unit in units(predictions).items():
        cells = [estimate_text(each.metrics.get(name)) for each in predictions]
        table.add_row(f"{name}, {unit_word(unit)}".removesuffix(", "), *cells)
    title = Text("Predicted, not measured", style="bold")
    return rendered(title, table, *map(Text, notes(predictions)), width=Console(width=10**4).measure(table).maximum)


def comparison_text(comparisons: list[Comparison]) -> str:
    """A table per comparison: the run beside its prediction."""
    parts = []
    for shown in map(beside, comparisons):
        title = f"{shown['log']}, {shown['size']}: predicted by the design “{shown['design']}”, not measured"
        table = simple_table()
        table.add_column("metric", no_wrap=True)
        for column in (shown["run"], "predicted", "run / predicted", "expected (run is)"):
            table.add_column(column, justify="right", no_wrap=True)
        table.add_column("limited at the longest messages by")
        for row in shown["rows"]:
            name = f"{row['name']}, {unit_word(row['unit'])}".removesuffix(", ")
            table.add_row(name, *(row[key] for key in ("run", "predicted", "ratio", "expected", "limit")))
        parts += [Text(title, style="bold"), table, *(Text(f"- {line}") for line in shown["notes"]), Text("")]
    return rendered(*parts, width=150)


def beside(comparison: Comparison, thousands: str = "") -> dict:
    """What people read of a comparison, as text, for a table. Nothing in it is a metric of the run's score."""
    prediction = comparison.prediction

    def row(run: float, predicted: float, limit: str) -> dict:
        shown = {"run": digits(run, thousands), "predicted": digits(predicted, thousands)}
        return shown | {"ratio": f"{run / predicted:.2f}", "limit": printable(limit) or "–"}

    return {
        "log": printable(comparison.log),
        "design": printable(prediction.design),
        "size": f"{counted(prediction.processes, 'process')} on {counted(prediction.nodes, 'node')}",
        "run": "this run, simulated" if comparison.simulated else "this run, measured",
        "rows": [
            {"name": name, "unit": estimate.unit, "expected": expected(comparison.run[name], estimate, thousands)}
            | row(comparison.run[name], estimate.value, estimate.limit)
            for name, estimate in prediction.metrics.items()
            if name in comparison.run and name != "l_max"
        ],
        "patterns": [
            {"name": limit.pattern} | row(comparison.patterns[limit.pattern], limit.mbyte_per_second, limit.link)
            for limit in prediction.limits
            if limit.pattern in comparison.patterns
        ],
        "notes": remarks(prediction)
        + [f"Expected: the prediction times the least and the most of {origin}." for origin in origins([prediction])],
    }


def expected(run: float, estimate: Estimate, thousands: str) -> str:
    """The band of a prediction, and whether the run is within it."""
    if estimate.low is None or estimate.high is None:
        return "not known"
    place = "below" if run < estimate.low else "above" if run > estimate.high else "within"
    return f"{digits(estimate.low, thousands)} to {digits(estimate.high, thousands)} ({place})"


def units(predictions: list[Prediction]) -> dict[str, str]:
    return {name: estimate.unit for each in predictions for name, estimate in each.metrics.items()}


def estimate_text(estimate: Estimate | None) -> str:
    """The value with its band."""
    if estimate is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return digits(estimate.value)
    return f"{digits(estimate.value)} ({digits(estimate.low)} to {digits(estimate.high)})"


def notes(predictions: list[Prediction]) -> list[str]:
    """What limits the patterns, what was assumed, and where the bands come from."""
    lines = []
    for each in predictions:
        shown = printable(limited_by(each.limits))
        lines.append(f"- {printable(each.design)}, limited at the longest messages by: {shown}.")
        lines += [f"  {line}" for line in remarks(each)]
    lines += [f"- In brackets: where a measured value is expected: {origin}." for origin in origins(predictions)]
    return lines


def remarks(prediction: Prediction) -> list[str]:
    """What was assumed, and what calibrates."""
    assumed = printable(", ".join(prediction.assumed))
    return [
        *([f"Assumed, because the design does not state it: {assumed}."] if assumed else []),
        *(f"Calibrated by {printable(origin)}." for origin in prediction.calibration),
    ]


def origins(predictions: list[Prediction]) -> list[str]:
    """Where the bands come from, each once."""
    found = (estimate.origin for each in predictions for estimate in each.metrics.values())
    return [printable(origin) for origin in dict.fromkeys(found) if origin]
