# SPDX-License-Identifier: Apache-2.0
"""Reports: pages, terminal, and exports for other programs."""
