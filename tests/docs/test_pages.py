# SPDX-License-Identifier: Apache-2.0
"""Pages are short, and a new user gets from the README to what eight tasks need with at most two changes of page."""

import re
from itertools import pairwise

import pytest
from builds import ROOT

DOCS = ROOT / "docs"
MOST_WORDS = 1200
GENERATED = ("log.md", "options.md")
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if page.name not in GENERATED]


def words(text):
    """As `wc -w` counts them."""
    return len(text.split())


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.stem)
def test_page_has_at_most_1200_words(page):
    assert words(page.read_text(encoding="utf-8")) <= MOST_WORDS


# Task: the pages that are read one after the other, each with a link to the next one, and words of the answer.
PATHS = {
    "run b_eff on four nodes": (("README.md",), "-S num_nodes=4"),
    "why is my b_eff low": (("README.md", "docs/b_eff.md"), "## When the number is low"),
    "add our Lustre": (("README.md", "docs/sites.md", "docs/vocabulary.md"), "`file_systems`"),
    "accept a machine": (("README.md", "docs/acceptance.md"), "coffeecup accept"),
    "which node is slow": (("README.md", "docs/nodes.md"), "## What the verdict means"),
    "what does 'not official' mean": (("README.md", "docs/b_eff.md"), "A run is **official** if"),
    "where is the formula": (("README.md", "docs/b_eff.md"), "$$\nb_\\mathrm{eff} = \\sqrt{"),
    "how do I add a benchmark": (("README.md", "docs/add-a-benchmark.md"), "```{code-block} c"),
}


def links(page):
    """The files to which a page links."""
    found = re.findall(r"\]\(([^)\s#]+)(?:#[^)\s]*)?\)", page.read_text(encoding="utf-8"))
    return {(page.parent / link).resolve() for link in found if "://" not in link}


@pytest.mark.parametrize("task", PATHS)
def test_answer_is_two_changes_of_page_away_at_most(task):
    names, answer = PATHS[task]
    pages = [ROOT / name for name in names]
    assert len(pages) <= 3
    for page, following in pairwise(pages):
        assert following in links(page), f"{page.name} has no link to {following.name}"
    assert answer in pages[-1].read_text(encoding="utf-8")
