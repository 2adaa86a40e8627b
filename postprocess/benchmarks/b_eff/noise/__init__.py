# SPDX-License-Identifier: Apache-2.0
"""The noise inside a run, by averaged patterns that are the same messages."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Part

PART = Part()
