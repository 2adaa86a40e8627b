# SPDX-License-Identifier: Apache-2.0
"""From the site's page to the report on a run: the reports in a folder, by the logs that they show.

The hash of a log connects both: ReFrame's session records it, and a report marks the section of the log with it
(page.anchors). So a link exists only if its target does.
"""

import os
import re
from pathlib import Path
from urllib.parse import quote

SECTION = re.compile(r'<section class="log" id="(sha256-[0-9a-f]{64})"')
REPORT = '<meta name="generator" content="coffeecup '


def report_links(folder: Path, page: Path) -> dict[str, str]:
    """SHA-256 of a log to the link from `page` to its section, for all logs that reports in `folder` (*.html) show; the
    newest report has priority. Files that cannot be read are left out."""
    links = {}
    reports = ((path, text_of(path)) for path in folder.glob("*.html"))
    found = [(path.stat().st_mtime, path, text) for path, text in reports if REPORT in text[:2000]]
    for _, path, text in sorted(found):
        way = quote(os.path.relpath(path.resolve(), page.resolve().parent))
        links |= {anchor.removeprefix("sha256-"): f"{way}#{anchor}" for anchor in SECTION.findall(text)}
    return links


def text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
