# SPDX-License-Identifier: Apache-2.0
"""What a described machine would reach, from the messages on its most loaded links (docs/predict_model.md)."""

from coffeecup.postprocess.benchmarks.b_eff.doors import Part

PART = Part()
