# SPDX-License-Identifier: Apache-2.0
"""How long the site page of 10 000 series takes: to write, and in Chromium to its first paint and for a filter.

    .venv/bin/python tests/evidence/bench_site_page.py [--series 10000] [--sessions 30]

The site is made up: 20 partitions with b_eff in five environments and b_eff_io on five file systems, ten metrics at as
many sizes as the series require. One partition loses a fifth. The figures are printed, nothing is asserted.
"""

import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import product
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "support"))

from bench_tables import parsed
from pages import CHROMIUM
from sessions_made import case, database, each_night

from coffeecup.postprocess.benchmarks.registry import benchmarks

PARTITIONS, KINDS, METRICS = 20, 5, 10
# After two frames everything is drawn that an event changed.
SCRIPT = """<script>
const drawn = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
const timed = async (name, value) => {
  const start = performance.now(), field = document.querySelector(`#filter [name=${name}]`);
  field.value = value;
  field.dispatchEvent(new Event("change", {bubbles: true}));
  await drawn();
  return performance.now() - start;
};
addEventListener("load", async () => {
  await drawn();
  const paint = performance.getEntriesByName("first-contentful-paint")[0];
  const times = {"first paint": paint ? paint.startTime : NaN, "all loaded": performance.now()};
  times["filter by partition"] = await timed("partition", "local:p7");
  times["filter by benchmark, too"] = await timed("benchmark", "b_eff");
  times["only by benchmark"] = await timed("partition", "");
  times["no filter"] = await timed("benchmark", "");
  const memory = performance.memory.usedJSHeapSize / 1e6;
  const elements = document.getElementsByTagName("*").length;
  await fetch("/measured", {method: "POST", body: JSON.stringify({times, memory, elements})});
});</script>"""


def made(path: Path, series: int, sessions: int) -> Path:
    """A results database."""
    rng = np.random.default_rng(20261126)
    sizes = [2**power for power in range(1, 1 + -(-series // (2 * PARTITIONS * KINDS * METRICS)))]
    units = {name: list(benchmarks()[name].units.items())[:METRICS] for name in ("b_eff", "b_eff_io")}

    def of_night(number):
        for partition, kind, size, name in product(range(PARTITIONS), range(KINDS), sizes, units):
            level = 800 if partition == 7 and number > 0.75 * sessions else 1000
            values = level * (1 + 0.02 * rng.standard_normal(METRICS))
            metrics = {metric: (value, unit) for value, (metric, unit) in zip(values, units[name])}
            where = {"environ": f"mpi{kind}"} if name == "b_eff" else {"file_system": f"scratch{kind}"}
            yield case(metrics, processes=size, partition=f"p{partition}", benchmark=name, **where)

    return database(path, each_night(sessions, of_night))


def measured(page: str, folder: Path) -> dict:
    """What the script measured in a browser that opened the page."""
    # The page permits no other script than its own and no connection.
    shown = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace("</body>", f"{SCRIPT}</body>")
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(shown.encode())

        def do_POST(self):
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            threading.Thread(target=server.shutdown).start()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        usual = "--headless --no-sandbox --disable-gpu --disable-sync --no-first-run --remote-debugging-port=0"
        address = f"http://127.0.0.1:{server.server_port}/"
        words = [CHROMIUM, *usual.split(), f"--user-data-dir={folder / 'profile'}", "--window-size=1280,900", address]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as browser:
            server.serve_forever()
            browser.terminate()
    return received[0]


def main():
    options = parsed(__doc__, series=10_000, sessions=30)
    with tempfile.TemporaryDirectory(prefix="coffeecup-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        stored = made(folder / "results.db", options.series, options.sessions)
        start = time.perf_counter()
        command = [Path(sys.executable).with_name("coffeecup"), "site", "report", stored, "-o", folder / "site.html"]
        subprocess.run(command, check=True)
        print(f"written in {time.perf_counter() - start:.1f} s")
        page = (folder / "site.html").read_text()
        print(f"file: {len(page.encode()) / 1e6:.1f} MByte")
        found = measured(page, folder)
        print(f"{found['elements']} elements, {found['memory']:.0f} MByte of JavaScript's memory")
        for what, milliseconds in found["times"].items():
            print(f"{what}: {milliseconds:.0f} ms")


if __name__ == "__main__":
    main()
