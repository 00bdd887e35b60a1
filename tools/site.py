# SPDX-License-Identifier: Apache-2.0
"""Hooks of MkDocs (mkdocs.yml): the order of the pages, pages of the root beside those of docs/, and links that lead
out of docs/.

The site's sections are those of docs/README.md; folders of docs/ are sections behind them. Links to pages of the root
lead to their pages, links to other files of the sources to copies on the site, and links to folders are texts.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
FOLDERS = {"traces": "Traces", "gateware": "Gateware in detail", "reference": "Reference pages", "adr": "Decisions"}
"""Folders of docs/ whose pages docs/README.md does not name one by one."""
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)#\s]+)(#[^)\s]*)?\)")


def _site_name(root_page: str) -> str:
    return f"project/{root_page.lower()}"


def _links(text: str) -> list[re.Match[str]]:
    return [link for link in _LINK.finditer(text) if "://" not in link[3]]


def _source(page: str, target: str) -> str:
    """The file in the sources that a link of the page `page`, a path in the sources, leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def _source_of(uri: str) -> str:
    """The path in the sources of a page of the site."""
    return next((page for page in ROOT_PAGES if _site_name(page) == uri), f"docs/{uri}")


def _title(uri: str) -> dict[str, str]:
    """An entry of the navigation: the page under its heading."""
    text = (ROOT / _source_of(uri)).read_text(encoding="utf-8")
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    return {heading[1].replace("`", "") if heading else uri: uri}


def on_config(config: Any) -> Any:
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8").partition("\n## ")[0]
    sections: dict[str, list[str]] = {}
    for entry in re.findall(r"^- (.+?)(?=^- |^$|\Z)", text, re.DOTALL | re.MULTILINE):
        title, _, rest = entry.partition(":")
        pages = [_source("docs/README.md", link[3]) for link in _links(rest)]
        sections[title] = [_site_name(page) if page in ROOT_PAGES else page.removeprefix("docs/") for page in pages]
    first = ["README.md", _site_name("README.md"), "tutorial.md"]
    named = {*first, *(page for pages in sections.values() for page in pages)}
    for folder, title in FOLDERS.items():
        found = sorted(path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs" / folder).glob("*.md"))
        sections[title] = [page for page in found if page not in named]
    config["nav"] = [
        *map(_title, first),
        *({title: [_title(page) for page in pages if page not in first]} for title, pages in sections.items()),
    ]
    return config


def _copied(source: str) -> bool:
    return not source.startswith("docs/") and source not in ROOT_PAGES and (ROOT / source).is_file()


def on_files(files: Files, *, config: Any) -> Files:
    for page in ROOT_PAGES:
        files.append(File.generated(config, _site_name(page), content=(ROOT / page).read_text(encoding="utf-8")))
    for file in list(files.documentation_pages()):
        page = _source_of(file.src_uri)
        for link in _links(file.content_string):
            source = _source(page, link[3])
            if _copied(source) and files.get_file_from_path(f"source/{source}") is None:
                files.append(File.generated(config, f"source/{source}", abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    here = page.file.src_uri
    own = _source_of(here)

    def led(link: re.Match[str]) -> str:
        if "://" in link[3]:
            return link[0]
        source = _source(own, link[3])
        if (ROOT / source).is_dir():
            return link[2]
        uri = _site_name(source) if source in ROOT_PAGES else f"source/{source}" if _copied(source) else source.removeprefix("docs/")
        return f"{link[1]}[{link[2]}]({posixpath.relpath(uri, posixpath.dirname(here))}{link[4] or ''})"

    return _LINK.sub(led, markdown)
