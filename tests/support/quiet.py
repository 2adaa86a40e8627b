# SPDX-License-Identifier: Apache-2.0
"""Configuration of ReFrame for sessions of many jobs, after the site's own: without the debug log, which would take a
third of their time."""

site_configuration = {"logging": [{"level": "info"}]}
