# SPDX-License-Identifier: Apache-2.0
"""Comparisons as text for people at a terminal: of arms, of the values of a search and of sessions."""

from collections.abc import Iterable, Mapping

import pandas as pd

from coffeecup.postprocess.comparison.result import Comparison, in_blocks, of_each
from coffeecup.postprocess.comparison.search import DEFAULT, Found
from coffeecup.postprocess.comparison.sessions import BEFORE, Judged, Sessions
from coffeecup.postprocess.comparison.verdicts import in_words, percent, risk_in_words
from coffeecup.postprocess.reports.changes import place
from coffeecup.postprocess.show.words import counted, digits, printable


def text(found: Comparison | Found | Sessions) -> str:
    """A result in lines and tables."""
    if isinstance(found, Sessions):
        return text_of_sessions(found)
    return text_of_search(found) if isinstance(found, Found) else text_of_arms(found)


def text_of_arms(found: Comparison) -> str:
    plan, first = found.plan, found.plan.first
    said = [f"{found.benchmark or 'nothing'}: {counted(found.runs, 'run')} of {', '.join(plan.arms)} in turn"]
    said += [f"No verdict: {obstacle}." for obstacle in found.obstacles]
    if not found.obstacles:
        said += [f"{each.metric}, {in_words(each, first)}" for each in found.verdicts]
        said += [f"({risk_in_words()})"] if found.verdicts else ["Too few pairs to judge."]
    said += [f"{run.folder} failed: {run.problem}" for run in found.failed]
    said += [
        f"Two runs of {first} in a block differ in {metric} by {percent(fraction)} % (median)."
        for metric, fraction in found.noise.items()
    ]
    if found.qualifications:
        number = [f"{key} {sum(of_arms.values())}" for key, of_arms in found.qualifications.items()]
        said.append(f"Qualifications, with the number of runs: {', '.join(number)}.")
    if silent := ", ".join(found.without_effect):
        said.append(f"Beside variables, the logs state no difference of {silent}: was a setting ignored?")
    said += map(in_blocks, found.changes)
    facts = {each.fact: {arm: each.values.get(arm, "") for arm in plan.arms} for each in found.differences}
    # an obstacle names what differs in the control alone
    said += in_what("the arms", {fact: values for fact, values in facts.items() if len({*values.values()}) > 1})
    medians = pd.DataFrame(found.median_ratios)
    return lines(said) + table(f"Median ratios to the arm {first}, not judged:", medians)


def text_of_search(found: Found) -> str:
    """All values, the comparison that confirms the best one, and how to set it."""
    count = len(found.values)
    grid = found.confirmation.plan.pairs * (count + 2)
    heading = f"The best of {count} values, after {counted(found.runs, 'run')} (a full grid has {grid}):"
    names = {"ratio": f"{found.metric}, ratio to {DEFAULT}"}
    values = pd.DataFrame(found.values).drop(columns="setting").set_index("value").rename(columns=names)
    advice = ["Set it with", *(f"    {line}" for line in found.recommended)]
    best = found.values[0]["value"]
    undecided = f"Nothing is confirmed: the comparison of {best} with the default failed or did not decide."
    said = advice if found.recommended else ["No reason to change the default." if found.holds else undecided]
    return table(heading, values) + text_of_arms(found.confirmation) + lines(said)


def text_of_sessions(found: Sessions) -> str:
    said = ["sessions " + " and ".join(f"{side} {', '.join(names)}" for side, names in found.sessions.items())]
    said += map(sentence, found.verdicts)
    said += [f"{place(each.series)}: cannot tell: {each.reason}" for each in found.not_judged]
    said += [f"({risk_in_words()})"] if found.verdicts else ["No series has both and enough sessions to be judged."]
    return lines(said + in_what("they", found.differences))


def sentence(one: Judged) -> str:
    """The verdict on a series of sessions."""
    series, found, hosts = place(one.series), one.verdict, "the same hosts" if one.same_hosts else "other hosts"
    if found.high is None:
        pairs = f"{found.pairs} of {one.needed} such pairs of sessions on {hosts} are in the history"
        return f"{series}: cannot tell: {pairs}"
    return f"{series}: {in_words(found, BEFORE)}, on {hosts}"


def in_what(who: str, facts: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The facts in which they differ, with the value of each."""
    each = [f"    {fact}: {of_each(values)}" for fact, values in facts.items()]
    return [f"In what {who} differ:", *each] if each else []


def lines(said: Iterable[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in said)


def table(title: str, rows: pd.DataFrame) -> str:
    """A title and a line for each row, with a dash for a number that is missing; empty without rows."""
    return f"{title}\n{rows.to_string(float_format=digits, na_rep='–')}\n" if len(rows) else ""
