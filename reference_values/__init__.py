# SPDX-License-Identifier: Apache-2.0
"""Values to compare with: a site's own references, and what the papers published."""
