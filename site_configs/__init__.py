# SPDX-License-Identifier: Apache-2.0
"""Sites: a folder each; common/ contains what they share and the commands `coffeecup site new` and `coffeecup site
check`."""
