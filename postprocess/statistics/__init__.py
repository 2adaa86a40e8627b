# SPDX-License-Identifier: Apache-2.0
"""Statistics of measurements, whatever they measure: pure functions of arrays and tables."""
