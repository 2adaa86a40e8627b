# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines, for test files that compare its logs with a known answer. The fixtures
`simulated_kernel` and `simulate` are in conftest.py."""

import json
from pathlib import Path

from conftest import ROOT

from postprocess.benchmarks.scoring import score_log

SITE = ROOT / "site_configs" / "simulated"
SHORT = ["--longest-loop", "1", "--repetitions", "1"]  # simulated time has no noise: one exchange says as much as 300


def records(log, kind):
    return [record for record in map(json.loads, Path(log).read_text().splitlines()) if record["record"] == kind]


def value(log, metric):
    return score_log(log).metrics[metric].value
