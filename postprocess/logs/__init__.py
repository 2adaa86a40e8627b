# SPDX-License-Identifier: Apache-2.0
"""Logs of the kernels: reading them, and what they say about a run whatever the benchmark."""
