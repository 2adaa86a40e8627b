# SPDX-License-Identifier: Apache-2.0
"""coffeecup's Python side: from the kernels' logs to scores, figures and reports."""
