"""Metrics over sessions: the table, changes, and where a system stands."""
