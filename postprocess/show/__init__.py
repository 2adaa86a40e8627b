# SPDX-License-Identifier: Apache-2.0
"""How results look: figures, words and numbers, PDF."""
