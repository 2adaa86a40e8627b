# SPDX-License-Identifier: Apache-2.0
"""Reference values: files, proposals from sessions, and the gate that checks them."""
