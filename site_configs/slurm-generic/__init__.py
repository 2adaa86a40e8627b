# SPDX-License-Identifier: Apache-2.0
"""Any machine under Slurm: to copy and fill in."""
