# SPDX-License-Identifier: Apache-2.0
"""OpenMetrics as a real Prometheus reads it, from a web server and by way of the node exporter's text file collector;
and the Grafana dashboard, each query of which that Prometheus answers."""

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from builds import PATIENCE, ROOT
from commands import run
from sessions_made import case, database, each_night, night, steady

DASHBOARD = json.loads((ROOT / "postprocess" / "reports" / "grafana.json").read_text())
HOSTILE = 'a "quoted" \\ back\\nslash\nin two lines, Größe 10³ µs'
PROGRAMS = ("prometheus", "promtool", "prometheus-node-exporter")
CONFIGURATION = """\
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - {{job_name: web, static_configs: [{{targets: ['127.0.0.1:{web}']}}]}}
  - {{job_name: node, static_configs: [{{targets: ['127.0.0.1:{node}']}}]}}
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A system that lost a fifth, with a reference; a test that fails; a partition whose settings are hostile."""
    rates = [*steady(20), *steady(6, 800.0, seed=2)]

    def of_night(number):
        yield case({"b_eff": (rates[number], 1000.0, -0.1, 0.5, "MByte/s", "pass")}, file_system="scratch")
        yield case({"b_eff": (1.5, "MByte/s")}, partition="odd", executable_opts=[f"{HOSTILE}\x1b"])
        yield case({}, benchmark="ftio", result="fail", fail_reason="no space")

    sessions = each_night(26, of_night)
    folder = tmp_path_factory.mktemp("metrics")
    done = run("export", database(folder / "results.db", sessions), "--openmetrics", folder / "coffeecup.prom")
    assert done.exit_code == 0, done.output
    return SimpleNamespace(file=folder / "coffeecup.prom", last=rates[-1])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def web_server(text):
    """Serves the text as OpenMetrics at any path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Prometheus:
    def __init__(self, port):
        self.address = f"http://127.0.0.1:{port}/api/v1"

    def get(self, path, **words):
        with urllib.request.urlopen(
            f"{self.address}/{path}?{urllib.parse.urlencode(words)}", timeout=PATIENCE
        ) as answer:
            return json.load(answer)["data"]

    def query(self, text):
        """Label sets with their values."""
        return [(sample["metric"], float(sample["value"][1])) for sample in self.get("query", query=text)["result"]]

    def wait_for(self, jobs):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                if {labels["job"] for labels, value in self.query("up") if value == 1} == jobs:
                    return
            except OSError:
                pass  # not up yet
            time.sleep(0.2)
        pytest.fail(f"not scraped: {self.get('targets')}")


@pytest.fixture(scope="module")
def prometheus(exported, tmp_path_factory):
    if missing := [program for program in PROGRAMS if not shutil.which(program)]:
        pytest.skip(f"{', '.join(missing)} not on PATH (Debian: prometheus, prometheus-node-exporter)")
    folder = tmp_path_factory.mktemp("prometheus")
    port, node = free_port(), free_port()
    with ExitStack() as stack:
        server = web_server(exported.file.read_bytes())
        stack.callback(server.shutdown)
        (folder / "prometheus.yml").write_text(CONFIGURATION.format(web=server.server_port, node=node))
        log = stack.enter_context((folder / "log").open("w"))
        exporter = ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{node}"]
        exporter += ["--collector.disable-defaults", "--collector.textfile"]
        exporter.append(f"--collector.textfile.directory={exported.file.parent}")
        server = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data"]
        server.append(f"--web.listen-address=127.0.0.1:{port}")
        for command in (exporter, server):
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, cwd=folder))
            stack.callback(process.terminate)
        started = Prometheus(port)
        started.wait_for({"web", "node"})
        yield started


def test_promtool_finds_no_fault(exported, prometheus):
    del prometheus  # skips without the programs
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=exported.file.read_bytes(), capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("job", ["web", "node"])
def test_prometheus_has_the_exported_values(prometheus, exported, job):
    of = f'job="{job}",partition="default"'
    expected = {"result": exported.last, "lower_bound": 900, "upper_bound": 1500, "regression": 1}
    expected |= {"failed": float(exported.last < 900), "session_seconds": night(25).timestamp()}
    for name, value in expected.items():
        assert [found for _, found in prometheus.query(f"coffeecup_{name}{{{of}}}")] == [value], name
    without = {
        labels["benchmark"]: value for labels, value in prometheus.query(f"coffeecup_sessions_without_value{{{of}}}")
    }
    assert without == {"b_eff": 0, "ftio": 26}
    [(labels, value)] = prometheus.query(f'coffeecup_result{{job="{job}",partition="odd"}}')
    assert (labels["settings"], value) == (f"{HOSTILE}\\x1b", 1.5), "what would steer a terminal is escaped"


def concrete(query):
    """The query with every variable as Grafana fills it in for "All"."""
    return re.sub(r"\$\w+", ".*", query)


def queries():
    return [pytest.param(panel["targets"][0], id=panel["title"].replace(" ", "-")) for panel in DASHBOARD["panels"]]


@pytest.mark.parametrize("target", queries())
def test_every_query_of_the_dashboard_has_an_answer(prometheus, target):
    found = prometheus.query(concrete(target["expr"]))
    assert found
    wanted = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
    assert wanted <= set().union(*(labels for labels, _ in found))  # Prometheus has no empty labels


@pytest.mark.parametrize(
    "variable", [one for one in DASHBOARD["templating"]["list"] if one["type"] == "query"], ids=lambda one: one["name"]
)
def test_every_variable_of_the_dashboard_has_values(prometheus, variable):
    selector, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["definition"]).groups()
    assert label == variable["name"] and variable["query"]["query"] == variable["definition"]
    assert prometheus.get(f"label/{label}/values", **{"match[]": concrete(selector)})


def test_dashboard_counts_the_test_without_a_value_and_the_regression(prometheus):
    shown = {panel["title"]: panel["targets"][0]["expr"] for panel in DASHBOARD["panels"]}
    for title in ("Tests without a value", "Regressions"):
        assert prometheus.query(concrete(shown[title]))[0][1] == 2, "one in each job"
    [(_, none)] = prometheus.query(concrete(shown["Tests without a value"]).replace("> 0", "> 26"))
    assert none == 0, "not unknown"


def test_dashboard_names_only_what_is_exported(exported):
    """Without Prometheus, too."""
    text = exported.file.read_text()
    known = set(re.findall(r"^# TYPE (\w+) gauge$", text, re.MULTILINE))
    used = set(re.findall(r"coffeecup_\w+", json.dumps(DASHBOARD)))
    assert used and used <= known
    labels = set(re.findall(r'[{,](\w+)="', text))
    selected = set(re.findall(r"(\w+)=~", json.dumps(DASHBOARD)))
    assert selected and selected <= labels
