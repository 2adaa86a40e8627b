# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines, for test files that compare its logs with a known answer. The fixtures
`simulated_kernel` and `simulate` are in conftest.py."""

from builds import ROOT

from coffeecup.postprocess.benchmarks.scoring import score_log

SITE = ROOT / "site_configs" / "simulated"
SHORT = ["--longest-loop", "1", "--repetitions", "1"]  # simulated time has no noise: one exchange says as much as 300
HEADER = 16  # byte that SMPI adds to each message


def value(log, metric):
    return score_log(log).metrics[metric].value
