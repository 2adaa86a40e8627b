# SPDX-License-Identifier: Apache-2.0
"""Runs the rounds of a search and the comparison that confirms its result, each in a folder of its own."""

from itertools import pairwise
from pathlib import Path

import typer

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.cli.alternation import (
    MOST_FAILURES,
    Alternation,
    alone_in,
    run_blocks,
    run_until_decided,
    say,
)
from coffeecup.postprocess.comparison.arms import BUILDS, LIBRARY, facts_of_run
from coffeecup.postprocess.comparison.plan import PlanError
from coffeecup.postprocess.comparison.result import Results
from coffeecup.postprocess.comparison.search import DEFAULT, ROUND_BLOCKS, Found, Search, plan_among, values_of
from coffeecup.postprocess.show.words import printable

AGAIN = "fix the cause and search in another folder"  # the same one keeps the runs that failed
UNLIMITED = 1000  # pairs, the most of a plan: a round ends after ROUND_BLOCKS


def searched(parameters: list[str], stated: dict, folder: Path) -> tuple[Found, Results]:
    """Runs a search, then compares the value that is left with the default in runs of their own, whose results come
    second. `stated` are the fields of the plan without its arms. Raises PlanError."""
    search = Search(values_of(parameters))
    plan_among(dict([*search.settings.items()][:1]), **stated)  # refused now, not after all rounds
    with alone_in(folder, "round-1"):
        rounds = halve(search, stated, folder)
        say(f"confirmation: {search.best}")
        plan = plan_among({search.best: search.settings[search.best]}, **stated)
        results = run_until_decided(Alternation(plan, folder / "confirmation"))
    of_one_build([*rounds, results])
    return search.found(sum(len(each.ended) for each in rounds), results), results


def halve(search: Search, stated: dict, folder: Path) -> list[Results]:
    """Runs rounds until one value is left; returns their results. Raises PlanError if nothing can be found."""
    within_round: dict = stated | {"pairs": UNLIMITED}
    rounds: list[Results] = []
    while len(search.left) > 1:
        number = len(rounds) + 1
        say(f"round {number}: {', '.join(search.left)}")
        plan = plan_among({name: search.settings[name] for name in search.left}, **within_round)
        alternation = Alternation(plan, folder / f"round-{number}", keep_failed=True)
        results = alternation.results
        interrupted = run_blocks(
            alternation, ROUND_BLOCKS, lambda now=results: bool(problem_of_default(now) or now.is_over)
        )
        rounds.append(results)
        if problem := problem_of_default(results):
            raise PlanError(f"runs without any of the values failed: {problem}: {AGAIN}")
        if results.obstacles:
            raise PlanError(results.obstacles[0])
        if interrupted:
            raise typer.Exit(1)
        of_one_build(rounds)
        search.better = direction(results)
        search.add(results.metrics(ROUND_BLOCKS), results.judged[0])
    if not search.left:
        raise PlanError(f"runs of every value failed; {folder} has their output: {AGAIN}")
    return rounds


def of_one_build(rounds: list[Results]) -> None:
    """Raises PlanError if the default ran with another kernel or MPI library than in the round before: what was left
    out there might be the best value now. A confirmation in which the default has no score yet is left out."""
    logs = [[score.log for (_, arm), score in each.scores.items() if arm == DEFAULT] for each in rounds]
    built = [
        {fact: value for fact, value in facts_of_run(of_round[-1]).items() if fact in (*BUILDS, LIBRARY)}
        for of_round in logs
        if of_round
    ]
    for before, now in pairwise(built):
        for fact, value in now.items():
            if value != before.get(fact):
                raise PlanError(f"{fact} changed between two rounds, to {printable(value)}: search in another folder")


def problem_of_default(results: Results) -> str | None:
    """Why the arm without any of the values failed, if it did so too often: nothing can be compared with it then."""
    problems = [run.problem for run in results.failed if run.arm == DEFAULT]
    return problems[-1] if len(problems) >= MOST_FAILURES else None


def direction(results: Results) -> Better:
    """Of the metric by which values are chosen. Raises PlanError if it has none."""
    [metric, *_] = results.judged
    better = benchmarks()[results.benchmark].metric(metric).better
    if better not in (Better.HIGHER, Better.LOWER):
        raise PlanError(f"of two values of {metric}, none is better: choose another --metric")
    return better
