# SPDX-License-Identifier: Apache-2.0
"""Metrics over sessions: the table, changes, and the current state of a system."""
