# SPDX-License-Identifier: Apache-2.0
"""An event beside which the MPI library or a variable changed: `check-history` proposes the comparison, and the result
of a comparison proves or refutes that this was the cause. The runs are made logs of b_eff whose links have another
bandwidth with another library."""

import json
import shlex
from itertools import pairwise

import logs_made
import pytest
from commands import run, said
from logs_made_b_eff import averaged_log, steady
from sessions_made import case, database, each_night
from sessions_made import steady as noise

from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.comparison.causes import in_words
from coffeecup.postprocess.comparison.plan import Arm, plan_of
from coffeecup.postprocess.comparison.verdicts import Standing, Verdict

OLD, NEW = "Open MPI v4.1.4", "Open MPI v5.0.1"
LINKS = {"usual": 1e9, "slower": 8e8}


@pytest.fixture
def logs(tmp_path):
    """A log of the old library over usual links, and two of the new one, over usual or slower links."""
    for library, link in (("old", "usual"), ("new", "usual"), ("new", "slower")):
        records = averaged_log(ranks=2, bandwidth=steady(link=LINKS[link]))
        records[0]["mpi"]["library"] = OLD if library == "old" else NEW
        records[0]["environment"] |= {"LIBRARY": library, "COFFEECUP_COMPARED": "LIBRARY"}
        logs_made.write(tmp_path / f"{library}-{link}.jsonl", records)
    return tmp_path


def loss(logs):
    """What the slower links cost: part of a b_eff is latency."""
    slower, usual = (score_log(logs / f"{name}.jsonl").metrics["b_eff"].value for name in ("new-slower", "old-usual"))
    return slower / usual


def history(folder, factor, **changed):
    """The database of 30 nights and of 8 with a factor, in which these variables of the test have another value: the
    first of a pair before, the second after."""
    values = noise(38, spread=0.005)

    def of_night(number):
        late = number >= 30
        there = {"job_nodelist": ["node00", "node01"]} | {name: pair[late] for name, pair in changed.items()}
        return [case({"b_eff": (values[number] * (factor if late else 1), "MByte/s")}, **there)]

    return database(folder / "results.db", each_night(38, of_night))


def compared(logs, link, *arms, options="--time-budget 5"):
    """The result of a comparison of these arms, where the new library has these links."""
    script = f"case $LIBRARY in old) cp {logs}/old-usual.jsonl . ;; new) cp {logs}/new-{link}.jsonl . ;; esac"
    words = [word for arm in arms for word in ("--arm", f"{arm}=LIBRARY={arm}")]
    command = ["sh", "-c", script, "b_eff", *shlex.split(options)]
    done = run("compare", *words, "--pairs", "6", "-o", logs / "runs", "--", *command)
    assert done.exit_code == 0, done.output
    return logs / "runs" / "result.json"


def cause_and_proposal(stored, *options):
    """What stands behind the cause in the line of the event, and the command that is proposed."""
    done = run("check-history", stored, *options)
    assert done.exit_code == 1, done.output
    [line] = [line for line in done.stdout.splitlines() if line.startswith("REGRESSION")]
    proposed = [line.partition("try: ")[2] for line in done.stdout.splitlines() if line.startswith("    try: ")]
    return line.partition(f"MPI library: {OLD} -> {NEW}")[2], proposed


@pytest.mark.parametrize("arms", [("old", "new"), ("new", "old")])
def test_a_library_that_is_slower_in_one_job_is_proved_to_be_the_cause(logs, arms):
    stored = history(logs, loss(logs), mpi_library=(OLD, NEW))
    assert cause_and_proposal(stored)[0] == ""
    words, proposed = cause_and_proposal(stored, "--compared", compared(logs, "slower", *arms))
    size = f"{100 * (loss(logs) - 1):.2g}"
    assert words == (
        f" (proved by a comparison, which changes b_eff by [{size}, {size}] %; its arms also differ in environment "
        "LIBRARY)"
    )
    assert proposed == []


@pytest.mark.parametrize(
    ("factor", "link", "words"), [(0.8, "usual", " (refuted by a"), (0.5, "slower", " (proved for a part by a")]
)
def test_a_library_that_is_not_slower_or_not_that_much_is_not_the_whole_cause(logs, factor, link, words):
    stored = history(logs, factor, mpi_library=(OLD, NEW))
    result = compared(logs, link, "old", "new")
    assert cause_and_proposal(stored, "--compared", result)[0].startswith(words)
    [event] = json.loads(run("check-history", stored, "--compared", result, "--json").stdout)["events"]
    [(cause, told)] = event["tested"].items()
    assert event["changed"] == [cause] and told.startswith(words.strip(" ("))


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        ("node00.example,node01", " (proved by a"),
        ("", " (proved by a"),  # the scheduler does not tell them
        ("node00,node02", " (a comparison cannot tell: no session of local ran on node01)"),
    ],
)
def test_a_comparison_on_hosts_of_another_system_proves_nothing(logs, hosts, words):
    stored = history(logs, loss(logs), mpi_library=(OLD, NEW), job_nodelist=([hosts], [hosts]))
    assert cause_and_proposal(stored, "--compared", compared(logs, "slower", "old", "new"))[0].startswith(words)


@pytest.mark.parametrize("other", ["options", "processes", "metric", "library"])
def test_a_comparison_of_something_else_says_nothing(logs, other):
    result = compared(
        logs, "slower", "old", "new", options="--time-budget 60" if other == "options" else "--time-budget 5"
    )
    if other == "metric":
        content = json.loads(result.read_text())
        content["verdicts"][0]["metric"] = "b_eff_per_process"
        result.write_text(json.dumps(content))
    more = {"processes": (4, 4)} if other == "processes" else {}
    stored = history(logs, 0.8, mpi_library=("MPICH 4" if other == "library" else OLD, NEW), **more)
    done = run("check-history", stored, "--compared", result)
    assert "by a comparison" not in done.output and "    try: coffeecup compare" in done.output
    assert f"--compared {result}: the result is about no cause of an event" in done.output


def test_what_is_proposed_is_a_comparison(tmp_path):
    """With the options of the kernel, its metric and its processes; of a variable with both values."""
    stored = history(tmp_path, 0.8, mpi_library=(OLD, NEW))
    [line] = cause_and_proposal(stored)[1]
    assert line == (
        "coffeecup compare --arm before=LD_LIBRARY_PATH=OLD --arm after=LD_LIBRARY_PATH=NEW --metric b_eff "
        "-o comparison-2026-01-31 -- mpirun -n 2 b_eff --time-budget 5"
    )
    first = ("--until", "2026-02-03")  # the first session that shows it
    assert line in run("check-history", stored, "--notify", *first).stdout


@pytest.mark.parametrize("before", ["rc,self", None])
def test_what_is_proposed_sets_the_variable_or_removes_it_from_the_environment(tmp_path, before):
    facts = [{"environment UCX_TLS": before} if before else {}, {"environment UCX_TLS": "a b"}]
    done = run("check-history", history(tmp_path, 0.8, facts=facts))
    [line] = [line for line in done.stdout.splitlines() if line.startswith("    try: ")]
    words = shlex.split(line.partition("try: ")[2])
    assert words[: words.index("coffeecup")] == ([] if before else ["env", "-u", "UCX_TLS"])
    arms = [arm for option, arm in pairwise(words) if option == "--arm"]
    assert plan_of(words[words.index("--") + 1 :], arms).arms == {
        "before": Arm(environment={"UCX_TLS": before} if before else {}),
        "after": Arm(environment={"UCX_TLS": "a b"}),
    }


def test_nothing_is_proposed_for_what_no_comparison_can_change(tmp_path):
    done = run("check-history", history(tmp_path, 0.8, kernel_version=("0.1.0", "0.2.0")))
    assert "kernel version: 0.1.0 -> 0.2.0" in done.output and "try:" not in done.output


def test_a_file_that_is_no_result_is_refused(tmp_path):
    stored = history(tmp_path, 0.8, mpi_library=(OLD, NEW))
    (tmp_path / "other.json").write_text('{"benchmark": 1}')
    for name, words in (("other.json", "benchmark"), ("none.json", "No such file")):
        done = run("check-history", stored, "--compared", tmp_path / name)
        assert done.exit_code == 2 and words in said(done)


# Three quarters of a loss of 20 % are a ratio of 0.8^0.75 = 0.8459, a quarter is 0.8^0.25 = 0.9457.
@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.78, 0.82, "proved by"),
        (0.8458, 0.90, "proved by"),
        (0.8460, 0.90, "proved for a part"),
        (0.9456, 0.99, "proved for a part"),
        (0.9458, 0.99, "refuted"),
        (0.9458, 1.02, "refuted"),
        (0.9456, 1.02, "not decided"),
        (0.70, 1.02, "not decided"),
        (1.10, 1.30, "refuted"),
        (0, None, "a comparison cannot tell"),
    ],
)
def test_a_cause_is_proved_by_how_much_of_the_change_the_interval_explains(low, high, word):
    judgement = lambda low, high: Verdict("new", "b_eff", 6, low, 1, high, Standing.WORSE, 0.03)  # noqa: E731
    assert in_words(judgement(low, high), False, -0.2, False).startswith(word)
    if low:
        turned = judgement(1 / high, 1 / low)
        assert in_words(turned, True, -0.2, False).startswith(word)
        assert in_words(turned, False, 0.25, False).startswith(word)  # a gain of 25 % undoes this loss
    assert in_words(judgement(0.8, 0.8), False, -0.2, True) == "a comparison cannot tell"
