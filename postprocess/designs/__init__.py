# SPDX-License-Identifier: Apache-2.0
"""Machines that are described and not measured: their numbers, the routes through their networks, and how messages
load the links."""
