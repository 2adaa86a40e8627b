# SPDX-License-Identifier: Apache-2.0
"""Whether programs, libraries or settings differ that ran in turn: judged from pairs of their logs."""
