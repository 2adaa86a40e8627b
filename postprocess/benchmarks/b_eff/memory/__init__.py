# SPDX-License-Identifier: Apache-2.0
"""Messages in memory of accelerators (--memory): a log is several, one for each kind of memory."""
