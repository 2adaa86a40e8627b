# SPDX-License-Identifier: Apache-2.0
"""What a session states about the job of each test: test_binding.py compares it with logs."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from coffeecup.postprocess.acceptance.binding import Issued, Place, place_of, places, unbound_session
from coffeecup.postprocess.acceptance.ledger import NONCE, Entry
from coffeecup.postprocess.sessions.files import SessionReport


def session(*runs, **info):
    """A report of runs of test cases."""
    begun = {"uuid": "u", "time_start_unix": 100.0, "time_end_unix": 200.0}
    return SessionReport(
        Path("session.json"), {"session_info": begun | info, "runs": [{"testcases": list(cases)} for cases in runs]}
    )


JOB = {"scheduler": "slurm", "jobid": 4711, "job_nodelist": "n1,n2", "env_vars": {NONCE: "abc"}}
JOB |= {"job_submit_time": 110.0, "job_completion_time_unix": 120.0}


@pytest.mark.parametrize(
    ("case", "info", "expected"),
    [
        ({}, {}, Place("", "", "", (), 100.0, 200.0, "")),
        ({"job_nodelist": None, "env_vars": None, "jobid": None}, {}, Place("", "", "", (), 100.0, 200.0, "")),
        (JOB, {"user": "operator"}, Place("operator", "slurm", "4711", ("n1", "n2"), 110.0, 120.0, "abc")),
        ({"job_nodelist": ["None"]}, {"user": None}, Place("", "", "", (), 100.0, 200.0, "")),
        ({"job_nodelist": ["n1", "n2"]}, {"user": None}, Place("", "", "", ("n1", "n2"), 100.0, 200.0, "")),
    ],
)
def test_the_place_of_a_test_is_that_of_its_job_and_else_that_of_its_session(case, info, expected):
    report = session([case], **info)
    assert place_of(report, case) == expected


def test_places_are_by_session_run_and_test():
    found = places([session([{"jobid": 1}, {"jobid": 2}], [{"jobid": 3}]), session([{"jobid": 4}], uuid="v")])
    assert {key: place.job for key, place in found.items()} == {"u:0:0": "1", "u:0:1": "2", "u:1:0": "3", "v:0:0": "4"}


BEFORE = "other_time", "its session states a start before its nonce was issued"
FUTURE = "other_time", "the session states a start in the future: correct the clocks"
FOREIGN = "unbound", "its session contains a nonce that was not issued for this contract"
NONE = "unbound", f"its session contains no nonce: set {NONCE} with ReFrame's --session-extras"


@pytest.mark.parametrize(
    ("nonce", "begin", "now", "refusals"),
    [
        ("abc", 1000.0, 1000.0, []),
        ("abc", 940.0, 880.0, []),  # clocks may differ by a minute
        ("abc", 939.0, 1000.0, [BEFORE]),
        ("abc", 1000.0, 939.0, [FUTURE]),
        ("xyz", 1000.0, 1000.0, [FOREIGN]),
        ("", 1000.0, 1000.0, [NONE]),
    ],
)
def test_a_session_without_logs_belongs_to_an_acceptance_by_its_nonce_and_its_start(nonce, begin, now, refusals):
    """The nonce abc was issued at 1000 s."""
    place = Place("", "", "", (), begin, begin + 1, nonce)
    issued = Issued(
        {"abc": Entry(1, "abc", datetime.fromtimestamp(1000, UTC), None, None)}, datetime.fromtimestamp(now, UTC)
    )
    assert [(refusal.key, refusal.text) for refusal in unbound_session(place, issued)] == refusals
