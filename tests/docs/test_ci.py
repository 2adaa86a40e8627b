# SPDX-License-Identifier: Apache-2.0
"""docs/ci.md: its script runs and exits as the page says, workflows conform to the published schemas, and lines of cron
have a time and start the script."""

import re
import sys
from pathlib import Path

import documented
import pytest
from builds import ROOT, executable, run
from logs_made_b_eff import averaged_log
from lxml import etree

FILES = {file.path: file.text for file in documented.steps(ROOT / "docs" / "ci.md")}
SCHEMAS = {".gitlab-ci.yml": "vendor.gitlab-ci", ".github/workflows/nightly.yml": "vendor.github-workflows"}


def test_every_file_of_the_page_is_tested():
    assert set(FILES) == {"nightly", "crontab", "scrontab", *SCHEMAS}


def nightly(tree, *options):
    """The exit code and the output of the script with these options, in a checkout."""
    script = executable(tree.folder / "nightly", FILES["nightly"])
    environment = documented.environment(
        COFFEECUP_OUTPUT=str(tree.scratch / "kept"), HOME=str(tree.scratch), COLUMNS="500"
    )
    done = run([script, "local", "-n", "^b_eff%num_processes=2$", *options], cwd=tree.folder, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_script_exits_with_0_after_a_good_night_and_with_1_after_a_test_without_a_value(tree, kernel_with, kernel_that):
    code, output = nightly(tree, *kernel_with(averaged_log(ranks=2), "b_eff")[1:])
    assert code == 0, output
    names = ("site.html", "coffeecup.prom", "message.txt")
    assert all((tree.folder / name).stat().st_size for name in names)
    [suite] = etree.parse(tree.folder / "junit.xml").getroot()
    assert suite.get("failures") == suite.get("errors") == "0" and int(suite.get("tests")) > 0
    code, output = nightly(tree, *kernel_that("exit 3"))
    assert code == 1 and "NEW: no value: b_eff %num_processes=2" in output, output
    newest = etree.parse(tree.folder / "junit.xml").getroot()[-1]
    assert int(newest.get("failures")) + int(newest.get("errors")) > 0
    assert "no value" in (tree.folder / "message.txt").read_text()


def test_script_exits_with_2_if_the_results_cannot_be_read(tree):
    code, output = nightly(tree, "--no-such-option")
    assert code == 2 and "results.db: cannot be read" in output


@pytest.mark.parametrize(("path", "schema"), SCHEMAS.items())
def test_workflows_conform_to_the_published_schemas(tmp_path, path, schema):
    workflow = tmp_path / "workflow.yml"
    command = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", schema, workflow]
    workflow.write_text(FILES[path])
    assert run(command).returncode == 0
    workflow.write_text(re.sub("tags: .*|runs-on: .*", "tagged: 3", FILES[path]))
    assert run(command).returncode == 1, "the schema refuses something"


@pytest.mark.parametrize("table", ["crontab", "scrontab"])
def test_lines_of_cron_start_the_script_at_a_time(table):
    [line] = [line for line in FILES[table].splitlines() if re.match(r"\d", line)]
    minute, hour, day, month, weekday, command = line.split(maxsplit=5)
    assert (int(minute) in range(60), int(hour) in range(24)) == (True, True) and day == month == weekday == "*"
    assert command.endswith("./nightly SITE") and "COFFEECUP_OUTPUT=" in FILES[table]
    assert "activate" in command
