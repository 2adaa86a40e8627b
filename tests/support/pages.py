# SPDX-License-Identifier: Apache-2.0
"""Pages as tests look at them: their text and tags, a browser, and hostile text that must not get into one."""

import copy
import html
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import axe_core_python
import pytest
from builds import run
from logs_made import first
from logs_made_b_eff import averaged_log

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: the page is not looked at in a browser"
)
HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x.png onerror=alert(2)></svg>{{ 7*7 }}&\"'$x^{"
MARKS = {"badge good": "✓ ", "badge bad": "✗ "}


def hostile_log():
    records = copy.deepcopy(averaged_log())
    run = records[0]
    run["hosts"][0] |= {"name": HOSTILE}
    activity = first(records, record="activity")
    activity["hosts"][0]["others_user_seconds"] = 4 * activity["elapsed_seconds"]
    run |= {
        "command": ["b_eff", HOSTILE],
        "options": run["options"] | {"log": HOSTILE},
        "environment": {HOSTILE: HOSTILE},
        "kernel_version": HOSTILE,
    }
    run["mpi"] |= {"library": HOSTILE, "single_copy": HOSTILE}
    run["build"] |= dict.fromkeys(run["build"].keys() - {"source_sha256"}, HOSTILE)
    return records


class Page(HTMLParser):
    """Tags with their attributes, the text outside of style and figures with the marks that style.css draws, and
    ids."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.skipped = [], "", 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.skipped += tag in ("style", "script", "svg")
        self.text += MARKS.get(dict(attributes).get("class"), "")

    def handle_endtag(self, tag):
        self.skipped -= tag in ("style", "script", "svg")
        self.text += " " * (tag in ("td", "th", "dt"))

    def handle_data(self, data):
        self.text += "" if self.skipped else data

    def named(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]

    @property
    def words(self):
        return " ".join(self.text.split()).replace("\u202f", " ")


# --- in a browser -----------------------------------------------------------------------------------------------------


def accessible(page, scripts=0):
    """What a page of ours keeps: it loads nothing, and a screen reader finds its way."""
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert not {tag for tag, _ in page.tags} & {"img", "iframe", "object", "embed", "form"}
    assert page.named("script") == [{}] * scripts
    assert page.named("html")[0]["lang"] == "en" and len(page.named("h1")) == 1 and len(page.named("main")) == 1
    assert all(picture.get("role") == "img" and picture["aria-labelledby"] in ids for picture in page.named("svg"))
    assert all(attributes["aria-labelledby"] in ids for _, attributes in page.tags if "aria-labelledby" in attributes)
    assert all(link["href"].startswith("data:") or link["href"][1:] in ids for link in page.named("a"))
    assert all(cell["scope"] in ("row", "col") for cell in page.named("th"))
    scrolled = [attributes for _, attributes in page.tags if attributes.get("class") == "scroll"]
    assert all(attributes.get("tabindex") == "0" for attributes in scrolled), "by keyboard too"


def browse(path, folder, *options):
    """Output and log of a headless browser that opened the page offline."""
    usual = "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update"
    files = (f"--user-data-dir={folder / 'profile'}", f"--log-net-log={folder / 'net.json'}")
    offline = ("--no-first-run", "--disable-sync", "--enable-logging=stderr", "--host-resolver-rules=MAP * ~NOTFOUND")
    done = run([CHROMIUM, *usual.split(), *files, *offline, *options, path.as_uri()])
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return done.stdout, console, (folder / "net.json").read_text()


# Of a page of the documentation only the article: what is around it belongs to the theme.
AXE = """<script>const part = document.querySelector("article") ?? document;
axe.run(part, {resultTypes: ["violations"]}).then(({violations}) => {
  const found = violations.flatMap(rule => rule.nodes.map(node => [rule.id, node.html.slice(0, 200)]));
  document.body.insertAdjacentHTML("beforeend", '<pre id="axe"></pre>');
  document.getElementById("axe").textContent = JSON.stringify(found);
});</script>"""


def violations(path, folder, *options):
    """What axe-core finds wrong in a page in a browser: pairs of a rule and the element that breaks it. The page may
    run the program's script then."""
    page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text())
    program = Path(axe_core_python.__file__).with_name("axe.min.js").read_text().replace("</script", "<\\/script")
    before, end, after = page.rpartition("</body>")
    copy_ = path.with_name(f"axe-{path.name}")
    copy_.write_text(f"{before}<script>{program}</script>{AXE}{end}{after}")
    dom, _, _ = browse(copy_, folder, "--dump-dom", "--virtual-time-budget=60000", *options)
    copy_.unlink()
    return json.loads(html.unescape(re.search(r'<pre id="axe">(\[.*?)</pre>', dom, re.DOTALL)[1]))


# Pages in frames, which are measured from outside, because the pages themselves run no script.
FRAMES = """<!DOCTYPE html>{frames}<pre id="measured"></pre><script>
const measure = frame => {{
  const view = frame.contentWindow, page = frame.contentDocument, style = element => view.getComputedStyle(element);
  const name = e => e.tagName + "." + e.getAttribute("class") + ": " + e.textContent.slice(0, 60);
  const seen = [...page.body.querySelectorAll("*")].filter(element => element.checkVisibility());
  const beyond = seen.filter(element => !element.parentElement.closest(".scroll"))
    .filter(element => element.getBoundingClientRect().right > page.documentElement.clientWidth + 0.5).map(name);
  const colour = text => text.match(/[\\d.]+/g).map(Number);
  const behind = element => {{
    for (; element; element = element.parentElement)
      if ((colour(style(element).backgroundColor)[3] ?? 1) > 0) return colour(style(element).backgroundColor);
    return null;
  }};
  const texts = seen.filter(element => [...element.childNodes].some(node => node.nodeType == 3 && node.data.trim()))
    .map(element => [name(element), colour(element.ownerSVGElement ? style(element).fill : style(element).color),
                     behind(element)]);
  return {{width: page.documentElement.scrollWidth, beyond, texts}};
}};
window.onload = () => measured.textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(measure));
</script>"""


def measured(folder, shown, *options):
    """For each page in a window of a width: the width that it takes, the elements that leave it outside of scrollable
    boxes, and its texts with their colour and the colour behind them. `shown` are pairs of text and width."""
    frame = '<iframe width="{}" height="800" style="border: 0" srcdoc="{}"></iframe>'
    file = folder / "frames.html"
    frames = "".join(frame.format(width, html.escape(page)) for page, width in shown)
    file.write_text(FRAMES.format(frames=frames))
    dom, console, _ = browse(file, folder, "--dump-dom", "--hide-scrollbars", *options)
    assert console == []
    found = re.search(r'<pre id="measured">(\[.*?)</pre>', dom, re.DOTALL)
    assert found, "the frames did not load"
    return json.loads(html.unescape(found[1]))
