# SPDX-License-Identifier: Apache-2.0
"""How a test compares rates that it measured with known ones. Such a test is marked `rate` and runs while no other test
does. This command runs all of them and nothing else; to see how often they fail on a machine, repeat it, also beside a
busy loop:

    .venv/bin/pytest -m rate

Noise model: what else runs on a machine takes time from a measurement, so that its rate is too low. No rate is too
high in a run without one that is too low, because a limit (a shaper, a throttle, the whole of which a share is a part)
holds whatever else runs; where a part of a run was slow, the parts that are to move as much as that one did are short,
and the burst that a limit lets pass weighs more. A disturbance ends before the next run begins, PAUSE seconds after one
that was disturbed, so that runs are disturbed independently of each other. On a good machine at most MOST_DISTURBED of
the runs are so disturbed that a rate leaves its tolerance; one of four was the worst that was seen. All of RUNS are
disturbed with a probability of MOST_DISTURBED ** RUNS = 6e-5: so seldom does a test fail for no fault of the program's.
A rate that is wrong in the program is wrong in each run.

Where noise goes both ways the median of FOR_MEDIAN repetitions counts, which is wrong if more than half of them are
disturbed: at most one of eight is, so that the median is wrong with a probability of 1.3e-5.
"""

import time

RUNS = 7
PAUSE = 5
MOST_DISTURBED = 1 / 4
FOR_MEDIAN = 21
MOST_DISTURBED_BOTH_WAYS = 1 / 8


def assert_rates(measure, expected, pause=PAUSE):
    """Each rate that `measure` gives lies within its limits in one of up to RUNS runs, and none is above them in a run
    where none is below: `expected` is {name: (least, most)}."""
    right = set()
    for run in range(1, RUNS + 1):
        rates = measure()
        assert rates.keys() == expected.keys()
        print(f"run {run}: " + ", ".join(f"{name} {rate:.4g}" for name, rate in rates.items()))
        low = {name for name, (least, _) in expected.items() if rates[name] < least}
        high = {name for name, (_, most) in expected.items() if rates[name] > most}
        assert low or not high, f"{', '.join(high)}: more than the limit lets pass"
        right |= rates.keys() - low - high
        if right == rates.keys():
            return
        if run < RUNS:
            time.sleep(pause)
    wrong = ", ".join(rates.keys() - right)
    raise AssertionError(f"{wrong}: not what the limit lets pass, in each of {RUNS} runs")


def about(rate, tolerance):
    """The limits of a rate that is known up to this share of it."""
    return rate * (1 - tolerance), rate * (1 + tolerance)
