# SPDX-License-Identifier: Apache-2.0
"""Reference values: proposals and the gate that they pass."""
