# SPDX-License-Identifier: Apache-2.0
"""How well changes are found: generated histories with known truth, as `coffeecup check-history` would meet them night
after night.

    .venv/bin/python tests/bench_history.py [--series 100] [--seed 20261121] [--noise SESSIONS...]

Stable series of 60 sessions should not alarm; a lasting drop of 10 % should be found within 5 sessions, and dated
right. `--noise` takes the noise of b_eff from sessions of the machine at hand instead of the recorded one. The figures
are printed, nothing is asserted.
"""

import argparse
from pathlib import Path

import numpy as np
import otava_test_data
import pandas as pd

from postprocess.history.change_points import MAD_TO_SIGMA, changes, rule_of, session_values
from postprocess.history.table import history_table
from postprocess.sessions.files import read_reports
from postprocess.show.words import counted

RECORDED = Path(__file__).with_name("session_noise.csv")  # its header says where it is from
SESSIONS, FOUND_WITHIN, DROP = 60, 5, 0.9
RETRIES = 2
RULE = rule_of("b_eff", "b_eff")


def recorded(sources):
    """Values of single runs over their median."""
    if sources:
        values = session_values(history_table(read_reports(sources)).query("metric == 'b_eff'"))["value"]
    else:
        values = pd.read_csv(RECORDED, comment="#")["b_eff"]
    return (values / values.median()).to_numpy()


def normal(spread):
    """Sessions whose values are normally distributed: otava-test-data's own generator."""

    def draw(rng, count):
        seed = int(rng.integers(2**31))
        return 1 + np.array(otava_test_data.noise_normal(length=count, mean=0, sigma=spread, seed=seed).data)

    return draw


def single_runs(runs):
    """Sessions of one run each, drawn from recorded ones."""
    return lambda rng, count: rng.choice(runs, count) * (1 + 0.01 * rng.standard_normal(count))


def confirmed_runs(runs, repeats):
    """Sessions with --max-retries=2, and --repeat where repeats are several: what lies more than three robust spreads
    below the median fails and is run again."""
    once = single_runs(runs)
    bound = 1 - 3 * MAD_TO_SIGMA * np.median(np.abs(runs - 1))

    def draw(rng, count):
        drawn = once(rng, repeats * count)
        for _ in range(RETRIES):
            failed = drawn < bound
            drawn[failed] = once(rng, int(failed.sum()))
        return np.median(drawn.reshape(repeats, count), axis=0)

    return draw


def alarm(values):
    """Where the level began that alarms, None where none does."""
    found = changes(values, RULE)
    return found[-1].index if found and found[-1].relative < 0 else None


def stable(draw, rng):
    """(alarm after the last session, alarm after any session) in a series without a change."""
    values = draw(rng, SESSIONS)
    return alarm(values) is not None, any(alarm(values[:night]) is not None for night in range(1, SESSIONS + 1))


def dropped(draw, rng):
    """Sessions until a drop was found and the error of its date, or None; the series is looked at after every
    session."""
    begin = int(rng.integers(20, SESSIONS - FOUND_WITHIN))
    values = draw(rng, begin + FOUND_WITHIN)
    values[begin:] *= DROP
    for night in range(begin + 1, len(values) + 1):
        place = alarm(values[:night])
        if place is not None and place > begin - FOUND_WITHIN:
            return night - begin, abs(place - begin)
    return None


def measure(name, draw, series, seed):
    rng = np.random.default_rng(seed)
    last, ever = np.array([stable(draw, rng) for _ in range(series)]).sum(axis=0)
    found = [result for result in (dropped(draw, rng) for _ in range(series)) if result]
    right = sum(error <= 1 for _, error in found)
    sessions = np.mean([nights for nights, _ in found]) if found else float("nan")
    print(f"{name:62} {last:6} {ever:7} {len(found):8} {right:6} {sessions:9.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--noise", nargs="*", default=[])
    options = parser.parse_args()
    runs = recorded(options.noise)
    spread = MAD_TO_SIGMA * np.median(np.abs(runs - 1))
    print(
        f"{len(runs)} recorded runs: robust spread {spread:.1%}, {np.mean(runs < 1 - 3 * spread):.0%} of them lower by "
        "more than three spreads"
    )
    print(
        f"{options.series} series of {SESSIONS} sessions and {options.series} with a lasting drop of {1 - DROP:.0%}; "
        f"seed {options.seed}; "
        f"{RULE}\n"
    )
    print(f"{'':62} {'false alarms':>14} {'found':>8} {'date':>6} {'found':>9}")
    print(
        f"{'noise of a session':62} {'at end':>6} {'ever':>7} {f'within {FOUND_WITHIN}':>8} {'right':>6} {'after':>9}"
    )
    for repeats in (3, 1):
        measure(
            f"recorded runs, {counted(repeats, 'repeat')}, failing ones retried twice",
            confirmed_runs(runs, repeats),
            options.series,
            options.seed,
        )
    for percent in (2, 3, 4):
        measure(f"normal, {percent} %", normal(percent / 100), options.series, options.seed)
    measure(
        "recorded runs, one a session, nothing confirmed (not advised)", single_runs(runs), options.series, options.seed
    )


if __name__ == "__main__":
    main()
