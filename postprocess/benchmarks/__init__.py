# SPDX-License-Identifier: Apache-2.0
"""The benchmarks, a folder each, and the modules that score a log of any of them."""
