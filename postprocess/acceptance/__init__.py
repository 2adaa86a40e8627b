"""Acceptance: contracts, their evidence, and their evaluation."""
