# SPDX-License-Identifier: Apache-2.0
"""Logs of the kernels: how they are read, and what they contain about a run, whatever the benchmark."""
