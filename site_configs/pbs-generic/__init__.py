# SPDX-License-Identifier: Apache-2.0
"""Any machine under PBS: to copy and fill in."""
