# SPDX-License-Identifier: Apache-2.0
"""Sessions of ReFrame: their reports and results database."""
