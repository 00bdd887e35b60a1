# SPDX-License-Identifier: Apache-2.0
"""Do the files, folders and tests that comments and pages cite exist? Without this, a move leaves them behind."""

from __future__ import annotations

import functools
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("bench", "core", "docs", "examples", "exanet", "gateware", "machines", "runtime", "spec", "tests", "tools")
SOURCES = (".c", ".cpp", ".h", ".hpp", ".js", ".patch", ".py", ".rdl", ".sh", ".sv", ".vlt", ".yaml")

CODE = re.compile(r"(?<![\w./*<-])([\w*-]+\.(?:cpp|hpp|c|h|py|sv|rdl|js|patch))(?![\w/(-]|\.\w)")
"""A source file by its bare name. What else a sentence names (results, machine files) may be the reader's own."""
PATH = re.compile(rf"(?<![\w./*<{{-])((?:{'|'.join(FOLDERS)})/[\w.*/-]*[\w*])")
"""A file or folder from the root; a file without its suffix will do."""
TEST = re.compile(r"(?<![\w.-])(?!(?:c11|fi|mt|shmem)_)([a-z0-9]\w*_test|test_[a-z]\w*)\b(?!\.\w|\w*=)")
"""A test by its file or function; those of OpenSHMEM and libfabric are others'."""


@functools.cache
def files() -> tuple[str, ...]:
    """Every file of the project, by its path from the root."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    found += [path for path in ROOT.iterdir() if path.is_file()]
    names = (str(path.relative_to(ROOT)) for path in found)
    return tuple(sorted(name for name in names if "__pycache__" not in name and not name.endswith(".so")))


@functools.cache
def known() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Paths of files (with and without suffix) and folders; bare names of files; stems and identifiers of the code
    that has them."""
    added = {name for patch in files() if patch.endswith(".patch") for name in re.findall(r"^\+\+\+ b/(\S+)$", text(patch), re.MULTILINE)}
    paths = {*files(), *added, *(line.strip("/") for line in text(".gitignore").splitlines())}
    paths |= {path.removeprefix("runtime/include/") for path in paths}
    names = frozenset(Path(path).name for path in paths)
    paths |= {str(folder) for path in paths for folder in Path(path).parents} | {str(Path(path).with_suffix("")) for path in paths}
    words = {Path(path).stem for path in paths}
    for path in files():
        if path.endswith((".c", ".cpp", ".h", ".hpp", ".py")):
            words |= set(re.findall(r"\b(?:test_\w+|\w+_test)\b", code(path)))
    return frozenset(paths), names, frozenset(words)


@functools.cache
def text(path: str) -> str:
    return (ROOT / path).read_text(errors="replace")


def code(path: str) -> str:
    """A source without its comments."""
    if path.endswith(".py"):
        return "\n".join(re.findall(r"^\s*(?:async )?def (\w+)", text(path), re.MULTILINE))
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text(path), flags=re.DOTALL)


def said(path: str) -> Iterator[tuple[int, str]]:
    """Line by line what a page, or the comments of a source, say; without targets of links, which `test_docs`
    follows."""
    whole = text(path)
    if path.endswith(".md"):
        yield from enumerate((re.sub(r"\]\([^)\s]*\)", "]", line) for line in whole.splitlines()), 1)
    elif path.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(whole).readline):
            if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.string.startswith('"""')):
                yield from enumerate(token.string.splitlines(), token.start[0])
    else:
        mark = r"(?<!:)//" if path.endswith((".c", ".cpp", ".h", ".hpp", ".js", ".patch", ".rdl", ".sv", ".vlt")) else r"(?<!\S)#"
        inside = False
        for number, line in enumerate(whole.splitlines(), 1):
            start = 0 if inside else re.search(mark if "#" in mark else rf"{mark}|/\*", line)
            if start is not None:
                begin = start if isinstance(start, int) else start.start()
                yield number, line[begin:]
                inside = "#" not in mark and "*/" not in line[begin:] and (inside or line[begin:].startswith("/*"))


def missing(path: str) -> list[str]:
    """References of the file to what the project does not have."""
    paths, names, words = known()
    fenced, found = False, []
    for number, line in said(path):
        if path.endswith(".md") and line.lstrip().startswith("```"):
            fenced = not fenced
        shell = fenced or line.startswith("    ")  # a session on the reader's own machine, with files of his
        cited = [name for name in PATH.findall(line) if name.rstrip(".") not in paths]
        if not (shell and path.endswith(".md")):
            cited += [name for name in CODE.findall(line) if name not in names]
            cited += [name for name in TEST.findall(line) if name not in words]
        found += [f"{path}:{number}: {name}" for name in cited if "*" not in name and not re.search("[A-Z]{4}|[.]{3}", name)]
    return found


@pytest.mark.parametrize("folder", ["", *FOLDERS])
def test_what_is_cited_exists(folder: str) -> None:
    within = [path for path in files() if path.startswith(f"{folder}/") or (not folder and "/" not in path)]
    assert within
    pages = [path for path in within if path.endswith((*SOURCES, ".md", "CMakeLists.txt", "Makefile")) and "/vendor/" not in path]
    assert [line for path in pages for line in missing(path)] == []


def test_a_wrong_citation_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.cpp"
    source.write_text("// As core/fabric/gone.cpp and engine_test.cpp say; nowhere_test and core/engine\nint x;  /* see\n * gone.hpp */\n")
    monkeypatch.setattr("test_references.ROOT", tmp_path)
    text.cache_clear()
    try:
        lines = list(said("a.cpp"))
    finally:
        text.cache_clear()
    assert [number for number, _ in lines] == [1, 2, 3]
    assert [name for _, line in lines for name in PATH.findall(line)] == ["core/fabric/gone.cpp", "core/engine"]
    assert [name for _, line in lines for name in CODE.findall(line)] == ["engine_test.cpp", "gone.hpp"]
    assert [name for _, line in lines for name in TEST.findall(line)] == ["nowhere_test"]
