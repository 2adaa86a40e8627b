# SPDX-License-Identifier: Apache-2.0
"""Slow nodes: the loops in which nodes exchange messages in pairs (--matchings, --all-pairs), and what they tell."""
