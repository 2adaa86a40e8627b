# SPDX-License-Identifier: Apache-2.0
"""Acceptance: contracts, their evidence, and their evaluation."""
