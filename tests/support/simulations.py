# SPDX-License-Identifier: Apache-2.0
"""b_eff on simulated machines, for test files that compare its logs with a known answer. The fixtures
`simulated_kernel` and `simulate` are in conftest.py."""

from builds import ROOT

from coffeecup.postprocess.benchmarks.scoring import score_log

SITE = ROOT / "site_configs" / "simulated"
SHORT = ["--longest-loop", "1", "--repetitions", "1"]  # simulated time has no noise: one exchange says as much as 300
HEADER = 16  # byte that SMPI adds to each message


def platform(folder, text, routing="Full", before=""):
    """Writes a description of a machine: a zone of SimGrid with this content."""
    path = folder / "made.xml"
    head = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    path.write_text(f'{head}{before}<zone id="world" routing="{routing}">{text}</zone></platform>\n')
    return path


def memory(size):
    """The property of a host that has so many bytes."""
    return f'<prop id="memory_bytes" value="{size}"/>'


def value(log, metric):
    return score_log(log).metrics[metric].value
