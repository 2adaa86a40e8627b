# SPDX-License-Identifier: Apache-2.0
"""The benchmarks, a folder each, and what scores a log of any of them."""
