# SPDX-License-Identifier: Apache-2.0
"""Refuses private words where the field has one: in identifiers, comments, docs, help and messages.

usage: python tools/words.py

docs/words.md is the only list: its tables say which words are refused, in which folders, and where one is right.
Words are compared by the parts of identifiers, so `told_packets`, `kTold` and "told" are one word. A line may hold a
phrase of several words.

Prints `file:line: error: ...` for each; exit status 1 when there is one. Limits: words whose ordinary meaning is
frequent (way, place, number) are left to the reader of a change.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = "docs/words.md"
UNREAD = (
    LIST,
    "CHANGELOG.md",
    "LICENSE",
    "docs/man/*",
    "exanet/results/report_page/vendor/*",
    "*.json",
    "*.png",
    "*.svg",
    "*.trace",
    "*.bin",
)
"""The list itself, the history of names, and what is neither prose nor code of the project."""
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Allowed:
    """Where a word is right: in files that match a pattern, in some phrases, or in both."""

    files: tuple[str, ...]
    phrases: tuple[str, ...]

    def covers(self, path: str) -> bool:
        return not self.files or any(fnmatch(path, pattern) for pattern in self.files)


@dataclass(frozen=True)
class Rules:
    """The list as the lint reads it."""

    scopes: dict[str, tuple[str, ...]]  # the folders of a refused word; none: everywhere
    allowed: dict[str, list[Allowed]]


def quoted(cell: str) -> tuple[str, ...]:
    return tuple(re.findall(r"`([^`]+)`", cell))


def rows(page: str, title: str) -> Iterator[list[str]]:
    """The cells of the table below a title, without its head."""
    section = page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    for line in lines[2:]:
        yield [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def read_rules(page: str) -> Rules:
    scopes: dict[str, tuple[str, ...]] = {}
    for _, _, words, folders in rows(page, "Terms"):
        for word in quoted(words):
            scopes[word] = quoted(folders)
    allowed: dict[str, list[Allowed]] = {}
    for words, files, phrases, reason in rows(page, "Allowed"):
        if not reason or not (files or phrases):
            raise ValueError(f"{LIST}: the allowed {words} needs files or phrases, and a reason")
        for word in quoted(words):
            if word not in scopes:
                raise ValueError(f"{LIST}: {word} is allowed and nowhere refused")
            allowed.setdefault(word, []).append(Allowed(quoted(files), tuple(normal(phrase) for phrase in quoted(phrases))))
    return Rules(scopes, allowed)


def normal(line: str) -> str:
    """The line's words in lower case, identifiers in their parts, each between spaces."""
    return "".join(f" {part.lower()} " for part in WORD.findall(line))


def find(rules: Rules, path: str, lines: list[str]) -> Iterator[tuple[str, int]]:
    """Each refused word of a file, with its line."""
    here: dict[str, list[str]] = {}
    for word, folders in rules.scopes.items():
        exceptions = [allowed for allowed in rules.allowed.get(word, []) if allowed.covers(path)]
        inside = not folders or any(path.startswith(f"{folder}/") for folder in folders)
        if inside and all(allowed.phrases for allowed in exceptions):
            here[word] = [phrase for allowed in exceptions for phrase in allowed.phrases]
    whole = "\n".join([path, *lines]).lower()
    here = {word: phrases for word, phrases in here.items() if word.split()[0] in whole}  # spares most lines the rest
    if not here:
        return
    first = re.compile("|".join(word.split()[0] for word in here), re.IGNORECASE)
    needles = {word: normal(word) for word in here}
    for number, line in enumerate([path, *lines]):
        if not first.search(line):
            continue
        text = normal(line)
        for word, phrases in here.items():
            if (needle := needles[word]) in text:
                rest = text
                for phrase in phrases:
                    rest = rest.replace(phrase, "  ")
                yield from ((word, number) for _ in range(rest.count(needle)))


def sources() -> Iterator[tuple[str, list[str]]]:
    """Path and lines of each file of the project that is text."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    for path in listed:
        if not any(fnmatch(path, pattern) for pattern in UNREAD) and (ROOT / path).is_file():
            try:
                yield path, (ROOT / path).read_text(encoding="utf-8").splitlines()
            except UnicodeDecodeError:
                continue


def main() -> int:
    rules = read_rules((ROOT / LIST).read_text(encoding="utf-8"))
    found = [f"{path}:{max(number, 1)}: error: {word!r}" for path, lines in sources() for word, number in find(rules, path, lines)]
    for message in found:
        print(f"{message} is a private word; {LIST} has the field's")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
