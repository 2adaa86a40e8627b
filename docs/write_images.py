# SPDX-License-Identifier: Apache-2.0
"""Takes pictures of the tutorial, in a browser, from the report on a recorded first run and from pages of the example
centre (docs/write_example.py): `.venv/bin/python docs/write_images.py build/docs/example docs/images`."""

import argparse
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from coffeecup.postprocess.show.pdf import browser

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "tests" / "kernel_logs" / "first_run"
WIDTH = 1000  # pixels
# Picture: page and height in pixels, of which the rest is cut off.
REPORT = ("report.png", 1440)
PICTURES = {
    "site.png": ("nights/site.html", 1130),
    "acceptance.png": ("acceptance/acceptance.html", 1415),
}


def take(page: Path, height: int, picture: Path) -> None:
    """Writes a picture of the top of a page, in 256 colours. Raises PdfError where there is no browser,
    CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        sandbox = ["--no-sandbox"] if os.getuid() == 0 else []
        words = ["--headless", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={folder}/profile", *sandbox]
        words += [f"--window-size={WIDTH},{height}", f"--screenshot={shot}", page.resolve().as_uri()]
        subprocess.run([browser(), *words], check=True, capture_output=True)
        Image.open(shot).convert("RGB").quantize(256).save(picture, optimize=True)


def report(folder: Path) -> Path:
    """The report on the recorded logs. Raises CalledProcessError if it fails."""
    for packed in sorted(LOGS.glob("*.jsonl.xz")):
        folder.joinpath(packed.stem).write_bytes(lzma.decompress(packed.read_bytes()))
    coffeecup = Path(sys.executable).with_name("coffeecup")
    subprocess.run([coffeecup, "report", ".", "-o", "report.html"], cwd=folder, check=True)
    return folder / "report.html"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("example", type=Path)
    parser.add_argument("images", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        name, height = REPORT
        take(report(Path(folder)), height, options.images / name)
    for name, (page, height) in PICTURES.items():
        take(options.example / page, height, options.images / name)


if __name__ == "__main__":
    main()
