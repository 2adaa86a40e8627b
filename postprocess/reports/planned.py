# SPDX-License-Identifier: Apache-2.0
"""A plan of tests (history.plan) as text and as JSON."""

import shlex

import numpy as np
import orjson

from coffeecup.postprocess.history.candidates import TARGET, Candidates, words_of
from coffeecup.postprocess.history.noise import Noise
from coffeecup.postprocess.history.plan import Coverage, Plan, Share, Simulation, share
from coffeecup.postprocess.show.terminal import rendered, simple_table
from coffeecup.postprocess.show.words import counted, named, printable, seconds

WIDTH = 158


def place(target: tuple) -> str:
    """A target in words."""
    of = dict(zip(TARGET, target))
    files = f", files on {of['file_system']}" if of["file_system"] else ""
    parameters = f" ({words})" if (words := words_of(of["parameters"])) else ""
    return printable(
        f"{named(of['check'], of['metric'])}{parameters} on {of['nodes']} of {of['partition']}+{of['environ']}{files}"
    )


def percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def counted_share(one: Share) -> str:
    low, high = one.interval
    return f"{percent(one.value)} ({100 * low:.3g} to {100 * high:.3g})"


def noise_words(noise: Noise) -> str:
    """Between sessions, with what the number of sessions leaves open (normal noise), and between runs of one."""
    error = noise.spread / np.sqrt(2 * (noise.known - 1))
    inside = f"; {percent(float(np.std(noise.runs)))} in a session" if len(noise.runs) else ""
    return f"{percent(noise.spread)} ± {100 * error:.2g}{inside}"


def rows(found: Candidates, made: Plan, by: Simulation) -> list[dict]:
    """A row per series: what one run costs, its noise, and what it detects alone with the plan's repeats."""
    chosen = {test.name for test in made.choice.tests} if made.found else set()
    return [
        dict(zip(TARGET, found.targets[number]))
        | {
            "test": test.name,
            "chosen": test.name in chosen,
            "processes": found.series[number].series["processes"],
            "seconds": test.seconds,
            "node_seconds": test.node_seconds,
            "noise": found.series[number],
            "power": share(by.any_detected([number], made.choice.repeats)),
            "false_alarms": share(by.false_alarms(number, made.choice.repeats)),
        }
        for test in found.tests
        for number in test.series
    ]


def text(found: Candidates, made: Plan, content: list[dict], mode: dict, remarks: list[str]) -> str:
    """The plan for the terminal."""
    terms, repeats = made.terms, made.choice.repeats
    nights = made.before + terms.nights
    lines = [
        f"A loss of {percent(terms.loss)} that begins after {made.before} nights, looked for during the next "
        f"{terms.nights}, with {counted(repeats, 'run')} of each test a night:",
        table(content),
        f"Noise: standard deviation between sessions. Power and false alarms (in {nights} nights): of "
        f"up to {terms.draws} histories drawn from the noise, in parentheses the 95 % interval of drawing.",
        "",
        *(f"{'reached' if one.reached else 'NOT REACHED'}: {sentence(one)}" for one in made.coverage),
        *(f"NOT PLANNED: {place(target)}: {why}" for target, why in found.unknown),
        cost(made),
        f"False alarms: {counted_share(made.false_alarms)} of stable systems in {nights} nights, any of these metrics.",
        *remarks,
    ]
    if made.reached:
        shown = orjson.dumps(mode, option=orjson.OPT_INDENT_2).decode()
        option = printable(shlex.quote(f"--mode={mode['name']}"))
        lines += ["", f"Add this mode to `modes` of the configuration, and run it with {option}:", shown]
    return "\n".join(lines)


def table(content: list[dict]) -> str:
    """The candidates for the terminal, a row for each metric."""
    shown = simple_table("", "test", "metric", "one run", "noise", "power alone", "false alarms")
    for row in content:
        shown.add_row(
            "*" if row["chosen"] else "",
            printable(row["test"]),
            printable(row["metric"]),
            seconds(row["seconds"]),
            noise_words(row["noise"]),
            counted_share(row["power"]),
            counted_share(row["false_alarms"]),
        )
    return "\n".join(line.rstrip() for line in rendered(shown, width=WIDTH).splitlines())


def sentence(one: Coverage) -> str:
    """The power to detect a loss in one metric, and what would be enough."""
    said = f"{place(one.target)}: {counted_share(one.power)}"
    if one.reached:
        return said
    enough = [f"{one.nights} nights"] if one.nights else []
    enough += [f"a loss of {percent(one.loss)}"] if one.loss else []
    return f"{said}; enough would be {' or '.join(enough) or 'nothing that was tried'}"


def cost(made: Plan) -> str:
    total = made.choice.seconds
    nodes = made.choice.repeats * sum(test.node_seconds for test in made.choice.tests)
    name = counted(len(made.choice.tests), "test")
    said = f"{seconds(total)} a night ({nodes / 60:.3g} node-minutes)"
    if made.reached:
        return f"Chosen (*): {name}, {said} of {made.terms.minutes:g} minutes."
    if made.found:
        limit = f"--minutes is {made.terms.minutes:g}"
        return f"TOO FEW MINUTES: the cheapest set that reaches it, {name} (*), takes {said}; {limit}."
    return (
        f"NO SET of tests, with up to {counted(made.most_repeats, 'run')} of each a night, reaches a probability of "
        f"{percent(made.terms.power)} for every metric (--benchmark, --metric choose). All: {name}, {said}."
    )


def as_object(found: Candidates, made: Plan, content: list[dict], mode: dict, remarks: list[str]) -> dict:
    """The plan for --json."""

    def shares(one: Share) -> dict:
        return dict(zip(("value", "low", "high"), (one.value, *one.interval)))

    terms = made.terms
    return {
        "reached": made.reached and not found.unknown,
        "minutes": terms.minutes,
        "nights": terms.nights,
        "nights_before": made.before,
        "loss": terms.loss,
        "probability": terms.power,
        "histories": terms.draws,
        "repeats": made.choice.repeats,
        "seconds": made.choice.seconds,
        "false_alarms": shares(made.false_alarms),
        "tests": [
            row | {"noise": row["noise"].spread, "sessions": row["noise"].known}
            | {name: shares(row[name]) for name in ("power", "false_alarms")}
            for row in content
        ],
        "targets": [
            dict(zip(TARGET, one.target))
            | {"reached": one.reached, "power": shares(one.power), "enough_nights": one.nights, "enough_loss": one.loss}
            for one in made.coverage
        ],
        "not_planned": [dict(zip(TARGET, target)) | {"reason": why} for target, why in found.unknown],
        "mode": mode if made.reached else {},
        "remarks": remarks,
    }  # fmt: skip
