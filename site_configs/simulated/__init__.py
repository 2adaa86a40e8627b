# SPDX-License-Identifier: Apache-2.0
"""Machines that SimGrid simulates."""
