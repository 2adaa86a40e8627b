# SPDX-License-Identifier: Apache-2.0
"""Metrics over sessions: the table, changes, and where a system stands."""
