# SPDX-License-Identifier: Apache-2.0
"""A page as PDF, printed by a headless browser."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 120


class PdfError(RuntimeError):
    """No PDF could be made; the message is one line with the remedy."""


def browser() -> str:
    """The browser on PATH. Raises PdfError where there is none."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        raise PdfError(
            f"a PDF requires a browser of the Chromium family, and none of {', '.join(BROWSERS)} is on PATH: "
            "install one, or print the HTML page by hand"
        )
    return found


def print_page(page: Path, pdf: Path) -> None:
    """Prints an HTML file. If the browser fails, raises PdfError and leaves no incomplete PDF."""
    command = [
        browser(),
        "--headless",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--no-pdf-header-footer",
        *(["--no-sandbox"] if os.getuid() == 0 else []),
    ]  # root has no sandbox; the page runs no script
    with tempfile.TemporaryDirectory(prefix="coffeecup-") as folder:
        made = Path(folder, "page.pdf")
        try:
            done = subprocess.run(
                [*command, f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", page.resolve().as_uri()],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PdfError(f"the browser did not print {page}: {error}; print it by hand") from None
        if done.returncode or not made.is_file() or not made.read_bytes().startswith(b"%PDF"):
            said = (done.stderr.strip().splitlines() or ["nothing on stderr"])[-1]
            raise PdfError(f"the browser did not print {page} ({said:.200}); print it by hand")
        shutil.copyfile(made, pdf)
