# SPDX-License-Identifier: Apache-2.0
"""Logs of kernels that were changed in one place: what contradicts itself is refused. `make prove GOALS=logs` does the
same 200 000 times."""

import copy
import json
import random

import logs_made
import pytest
from mutator import LOGS, Mutator, kernel_log, tried

from coffeecup.postprocess.benchmarks.score import Score
from coffeecup.postprocess.benchmarks.scoring import score_logs


def scored(path, records):
    [score] = score_logs([logs_made.write(path, records)])
    return score


@pytest.mark.parametrize("name", LOGS)
def test_logs_of_kernels_have_a_score(tmp_path, name):
    assert isinstance(scored(tmp_path / "log.jsonl", kernel_log(name)), Score)


@pytest.mark.parametrize("name", LOGS)
def test_no_change_that_contradicts_the_rest_of_a_log_is_accepted(tmp_path, name):
    found = tried(name, seed=20261122, count=20, folder=tmp_path)
    assert [what for what in found if what.startswith(name)] == []
    assert found["refused"] > 10


def test_a_change_that_coffeecup_does_not_check_is_found(tmp_path, monkeypatch):
    """The mutator is no better than its list of what need not be refused: a list that lacks a field shows it."""
    monkeypatch.setattr("mutator.free_fields", lambda benchmark: set())
    assert [what for what in tried("ftio", seed=1, count=60, folder=tmp_path) if "accepted: " in what]


def test_every_change_leaves_the_original_as_it_was():
    records = kernel_log("priomark-posix")
    before = copy.deepcopy(records)
    mutator = Mutator(records, random.Random(0))
    texts = {mutator.mutated()[1] for _ in range(200)}
    assert records == before and len(texts) > 150
    assert "".join(json.dumps(record) + "\n" for record in before).encode() not in texts
