# SPDX-License-Identifier: Apache-2.0
"""A workload from Darshan logs. Its door is workload.py, `from_darshan()`."""
