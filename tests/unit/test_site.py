# SPDX-License-Identifier: Apache-2.0
"""Does the documentation become a site whose links lead somewhere, also those that lead out of docs/?"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MKDOCS = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="the site is built with the extra `docs`")
    folder = tmp_path_factory.mktemp("site") / "site"
    done = subprocess.run([*MKDOCS, "-d", folder], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_has_its_place_under_its_heading(site: Path) -> None:
    front = (site / "index.html").read_text()
    entries = re.findall(r'<a href="([^"#:]+)"[^>]*class="md-nav__link', front)
    pages = list((ROOT / "docs").rglob("*.md"))
    assert len({entry for entry in entries if entry not in (".", "./")}) == len(pages) - 1 + 4, "all of docs/, and four of the root"
    for title in ("What decides how long a run takes", "The router", "Machine files", "Architecture"):
        assert title in front


def test_links_out_of_the_documentation_lead_to_copies(site: Path) -> None:
    example = site / "source/examples/pingpong.c"
    assert example.read_bytes() == (ROOT / "examples/pingpong.c").read_bytes()
    page = (site / "cpu/index.html").read_text()
    (link,) = set(re.findall(r'href="([^"]*pingpong\.c)"', page))
    assert (site / "cpu" / link).resolve() == example
    assert (site / "project/architecture/index.html").is_file()


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="the site is built with the extra `docs`")
    (tmp_path / "tools").mkdir()
    for name in ("mkdocs.yml", "tools/site.py", "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/README.md").write_text("# Pages\n\n- One: [a page](missing.md)\n")
    (tmp_path / "docs/tutorial.md").write_text("# Tutorial\n")
    done = subprocess.run(MKDOCS, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
