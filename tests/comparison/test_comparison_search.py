# SPDX-License-Identifier: Apache-2.0
"""The best of many values: the planted best one is found and confirmed, what fails is left out, and the result says how
to set it. The runs are made logs of b_eff whose links have the bandwidth that the value of a variable gives."""

import json
import os
import shutil
import signal

import commands
import logs_made
import pandas as pd
import pytest
from logs_made_b_eff import averaged_log, steady

from coffeecup.postprocess.benchmarks.benchmark import Better
from coffeecup.postprocess.benchmarks.scoring import score_log
from coffeecup.postprocess.cli import alternation
from coffeecup.postprocess.comparison.plan import PlanError
from coffeecup.postprocess.comparison.search import Search, recommendation, values_of
from coffeecup.postprocess.comparison.verdicts import percent

LIMITS = ["1k", "4k", "16k", "64k"]


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        (["X=1,2"], {"1": "X=1", "2": "X=2"}),
        (["X=a=b,c"], {"a-b": "X=a=b", "c": "X=c"}),
        (["X=1:0-8;3,2 *"], {"1-0-8-3": "X='1:0-8;3'", "2--": "X='2 *'"}),
        (["--hints k=1,2"], {"1": "--hints k=1", "2": "--hints k=2"}),
        (["--hints k=1,2", "--hints l=3"], {"1-3": "--hints k=1,l=3", "2-3": "--hints k=2,l=3"}),
        (
            ["--seed=1,2", "Y=/a,b"],
            {"a-1": "Y=/a --seed=1", "a-2": "Y=/a --seed=2", "b-1": "Y=b --seed=1", "b-2": "Y=b --seed=2"},
        ),
    ],
)
def test_values_of_parameters(parameters, found):
    assert values_of(parameters) == found


@pytest.mark.parametrize("parameters", [["X"], ["X=1"], ["X=1,,2"], ["X=1,1"], ["X=default,1"], ["=1,2"], ["X=/,1"]])
def test_values_that_cannot_be_told_apart_are_refused(parameters):
    with pytest.raises(PlanError):
        values_of(parameters)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (["X=1,2", "X=3,4"], "X occurs twice"),
        (["--hints k=1,2", "--hints k=3"], "--hints k occurs twice"),
        (["X=1," + 65 * "a"], "more than 64 characters of values, X=a"),
        (["X=1,2", "Y=" + 63 * "a"], "more than 64 characters of values, X=1 Y=a"),
    ],
)
def test_the_refusal_names_the_parameter(parameters, said):
    with pytest.raises(PlanError, match=said):
        values_of(parameters)
    assert values_of(["X=1," + 64 * "a"])


def rounds(better, values, failed=()):
    """The values left after each round of runs without noise."""
    search, left = Search({name: f"X={name}" for name in values}, better), []
    while len(search.left) > 1:
        arms = {"default": 1.0, "control": 1.0, **{name: values[name] for name in search.left}}
        rows = [(block, arm, value) for block in range(3) for arm, value in arms.items()]
        rows = [row for row in rows if not (row[0] == 1 and row[1] in failed)]
        search.add(pd.DataFrame(rows, columns=["block", "arm", "value"]), "value")
        left.append(search.left)
    return search, left


def test_the_better_half_goes_on():
    values = {"a": 1.0, "b": 1.4, "c": 0.9, "d": 1.2, "e": 1.3}
    assert rounds(Better.HIGHER, values)[1] == [["b", "e", "d"], ["b", "e"], ["b"]]
    assert rounds(Better.LOWER, values)[1] == [["c", "a", "d"], ["c", "a"], ["c"]]


def test_a_value_of_which_one_run_fails_is_left_out():
    search, left = rounds(Better.HIGHER, {"a": 1.0, "b": 1.4, "c": 0.9, "d": 1.2}, failed="b")
    assert left == [["d", "a"], ["d"]] and search.standing("b") == "failed"
    assert search.standing("d") == "the best"


@pytest.mark.parametrize(("other", "standing"), [(1.2, "worse than the best"), (1.5, "not distinguishable")])
def test_a_value_is_worse_only_if_an_interval_shows_it(other, standing):
    """Six pairs of equal sign can (2/64 is below 5 %); where signs differ, nothing is claimed."""
    search = Search({"a": "X=a", "b": "X=b"})
    rows = [
        (block, arm, value * (1.1 if block == 0 and arm == "b" else 1))
        for block in range(6)
        for arm, value in {"default": 1.0, "a": 1.6, "b": other}.items()
    ]
    search.add(pd.DataFrame(rows, columns=["block", "arm", "value"]), "value")
    assert search.left == ["a"] and search.standing("b").startswith(standing)


def test_recommendation_is_what_a_site_can_set():
    assert recommendation("UCX_RNDV_THRESH=64k") == [
        "export UCX_RNDV_THRESH=64k    in a job script",
        'setenv("UCX_RNDV_THRESH", "64k")    in a module file of Lmod',
    ]
    assert recommendation("X='1:0;3 4'") == [
        "export X='1:0;3 4'    in a job script",
        'setenv("X", "1:0;3 4")    in a module file of Lmod',
    ]
    hint, striped = recommendation("--hints striping_factor=8")
    assert hint.startswith("striping_factor 8 ") and striped.startswith("lfs setstripe -c 8 DIRECTORY")
    hint, wide, striped = recommendation("--hints cb_nodes=2,striping_unit=1048576")
    assert hint.startswith("cb_nodes 2 ") and wide.startswith("striping_unit 1048576 ")
    assert striped.startswith("lfs setstripe -S 1048576 DIRECTORY")
    assert recommendation("--seed=2") == ["the option --seed=2"]


@pytest.fixture
def machine(tmp_path):
    """A command whose links have 1 GByte/s, and with the eager limit 16k 1.5; with 4k it fails."""
    for limit in ["", *LIMITS]:
        log = averaged_log(ranks=2, bandwidth=steady(link=1.5e9 if limit == "16k" else 1e9))
        log[0]["environment"] |= {"LIMIT": limit, "COFFEECUP_COMPARED": "LIMIT"} if limit else {}
        logs_made.write(tmp_path / f"log{limit}.jsonl", log)
    return ["sh", "-c", f'[ "$LIMIT" != 4k ] && cp {tmp_path}/log$LIMIT.jsonl .']


def gain(folder):
    """What the best limit is worth: part of a b_eff is latency."""
    best, default = (score_log(folder / f"log{limit}.jsonl").metrics["b_eff"].value for limit in ("16k", ""))
    return best / default


def inodes(folder):
    return {path: path.stat().st_ino for path in folder.rglob("log*.jsonl")}


def search(folder, machine, *options):
    words = ["compare", "--parameter", f"LIMIT={','.join(LIMITS)}", "-o", folder / "runs", *options, "--", *machine]
    return commands.run(*words)


def test_the_planted_best_value_is_found_confirmed_and_goes_on_after_an_interrupt(tmp_path, machine):
    done = search(tmp_path, machine, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["values"][0]["value"] == "16k" and found["values"][0]["standing"] == "the best"
    assert {each["value"]: each["ratio"] for each in found["values"]}["4k"] is None
    assert found["recommended"][0].startswith("export LIMIT=16k")
    [verdict] = found["confirmation"]["verdicts"]
    assert verdict["standing"] == "better" and verdict["middle"] == pytest.approx(gain(tmp_path))
    counted = sum(len(path.read_text().splitlines()) for path in (tmp_path / "runs").glob("*/runs.jsonl"))
    assert found["runs"] == counted < 20 * (len(LIMITS) + 2) / 2
    # as if it had been interrupted in the second round: the same result, and no run of the first one again
    first = inodes(tmp_path / "runs" / "round-1")
    shutil.rmtree(tmp_path / "runs" / "confirmation")
    lines = (tmp_path / "runs" / "round-2" / "runs.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "runs" / "round-2" / "runs.jsonl").write_text("".join(lines[:5]))
    assert json.loads(search(tmp_path, machine, "--json").stdout) == found
    assert first and first == inodes(tmp_path / "runs" / "round-1")
    text = search(tmp_path, machine).stdout
    assert f"The best of 4 values, after {counted} runs (a full grid has 120)" in text
    assert f"16k beside default: better by {percent(gain(tmp_path) - 1)} %" in text
    assert 'setenv("LIMIT", "16k")' in text


def test_an_interrupt_after_the_last_run_of_a_round_ends_the_search(tmp_path, machine, monkeypatch):
    """While its result is printed: the first round has three runs of four values, the default and the control."""
    runs = []

    def say(text):
        if text.startswith("block "):
            runs.append(text)
            if len(runs) == 18:
                os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(alternation, "say", say)
    assert search(tmp_path, machine).exit_code == 1
    assert len(runs) == 18 and not (tmp_path / "runs" / "round-2").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--arm", "a="), "use one of them"),
        (("--metric", "nonsense"), "a run has no metric nonsense"),
        (("--minimum", "2"), "minimum"),
        (("--pairs", "5"), "1 difference cannot be judged from fewer than 6 pairs"),
    ],
)
def test_a_search_that_cannot_be_made_is_refused(tmp_path, machine, options, said):
    done = search(tmp_path, machine, *options)
    assert done.exit_code == 2 and said in commands.said(done)


def test_a_search_whose_runs_are_on_other_nodes_ends_with_its_first_block(tmp_path, machine):
    """As outside an allocation, where each run is a job by itself."""
    logs_made.write(tmp_path / "log.jsonl", averaged_log(ranks=2, nodes=1))
    done = search(tmp_path, machine)
    assert done.exit_code == 2 and "start all runs in one allocation" in commands.said(done)
    assert {path.name[:4] for path in (tmp_path / "runs" / "round-1").glob("0*")} == {"0001"}


@pytest.mark.parametrize("script", ["exit 1", '[ -n "$LIMIT" ] && cp log$LIMIT.jsonl .'])
def test_a_command_that_fails_without_any_value_ends_the_search(tmp_path, script):
    """Whether values fail as well or not, and whatever their order is."""
    done = search(tmp_path, ["sh", "-c", script])
    assert done.exit_code == 2 and "runs without any of the values failed" in commands.said(done)
    assert "search in another folder" in commands.said(done)


@pytest.mark.parametrize("later", ["round-2", "confirmation"])
def test_a_search_does_not_go_on_with_another_library(tmp_path, machine, later):
    """As after a maintenance."""
    for path in tmp_path.glob("log*.jsonl"):
        before, after = '"Open MPI v4.1.4"', '"Open MPI v5.0.1"'
        assert before in path.read_text()
        logs_made.write(tmp_path / later / path.name, path.read_text().replace(before, after).encode())
    script = f"case $PWD in */{later}/*) later={later}/ ;; esac; {machine[2]}".replace("log$LIMIT", "${later}log$LIMIT")
    done = search(tmp_path, ["sh", "-c", script])
    assert done.exit_code == 2 and "MPI library changed between two rounds, to Open MPI v5.0.1" in commands.said(done)
    assert (tmp_path / "runs" / "confirmation").exists() == (later == "confirmation")  # no run more than needed


def test_a_confirmation_without_a_run_of_the_default_has_no_verdict(tmp_path, machine):
    """As if it was interrupted before its first run ended. The search is not lost."""
    machine[2] = f"case $PWD in */confirmation/*) exit 1 ;; esac; {machine[2]}"
    done = search(tmp_path, machine, "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 1 and found["values"][0]["value"] == "16k"
    assert found["recommended"] == [] and found["confirmation"]["verdicts"] == []
    text = search(tmp_path, machine).stdout
    assert "Nothing is confirmed: the comparison of 16k with the default" in text and "No reason" not in text
