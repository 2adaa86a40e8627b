# SPDX-License-Identifier: Apache-2.0
"""Configuration of ReFrame after the one of a test: without the debug log, which takes a third of a session's time."""

site_configuration = {"logging": [{"level": "info"}]}
