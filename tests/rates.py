# SPDX-License-Identifier: Apache-2.0
"""How a test compares rates that it measured with known ones.

Noise model: what else runs on a machine takes time from a measurement, so that its rate is too low. It cannot be too
high, because a limit (a shaper, a throttle) holds whatever else runs. A disturbance ends before the next run of some
seconds begins, so that runs are disturbed independently of each other. On a good machine at most MOST_DISTURBED of the
runs are so disturbed that a rate leaves its tolerance; one of four was the worst that was seen. All of RUNS are
disturbed with a probability of MOST_DISTURBED ** RUNS = 6e-5: so seldom does a test fail for no fault of the program's.
A rate that is wrong in the program is wrong in each run.

Where noise goes both ways the median of FOR_MEDIAN repetitions counts, which is wrong if more than half of them are
disturbed: at most one of eight is, so that the median is wrong with a probability of 1.3e-5.
"""

RUNS = 7
MOST_DISTURBED = 1 / 4
FOR_MEDIAN = 21
MOST_DISTURBED_BOTH_WAYS = 1 / 8


def assert_rates(measure, expected):
    """The best of each rate that `measure` gives in up to RUNS runs lies within its limits: `expected` is {name:
    (least, most)}."""
    best = {}
    for run in range(1, RUNS + 1):
        rates = measure()
        assert rates.keys() == expected.keys()
        best = {name: max(rate, best.get(name, rate)) for name, rate in rates.items()}
        print(f"run {run}: " + ", ".join(f"{name} {rate / 1e6:.2f}" for name, rate in rates.items()) + " MByte/s")
        for name, (_, most) in expected.items():
            assert best[name] <= most, f"{name}: more than the limit lets pass"
        if all(best[name] >= least for name, (least, _) in expected.items()):
            return
    for name, (least, _) in expected.items():
        assert best[name] >= least, f"{name}: less than the limit lets pass, in each of {RUNS} runs"


def about(rate, tolerance):
    """The limits of a rate that is known up to this share of it."""
    return rate * (1 - tolerance), rate * (1 + tolerance)
