# SPDX-License-Identifier: Apache-2.0
"""Is what can be typed written down, and does what is written down exist?"""

from __future__ import annotations

import functools
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import typer.main

from exanet.cli import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate_cli", ROOT / "docs" / "generate_cli.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def all_commands() -> dict[str, Any]:
    """Every command and group of the command line, by what one types for it."""
    return dict(generator().commands("exanet", typer.main.get_command(app)))


def options_of(command: Any) -> set[str]:
    """The options of a command; of a group, those of its commands too: it takes them without their names."""
    own = {opt for parameter in command.params for opt in [*parameter.opts, *parameter.secondary_opts]}
    return own.union(*(options_of(below) for below in getattr(command, "commands", {}).values()))


def unknown(line: str) -> list[str]:
    """Missing parts of the command line `exanet` + `line`: its command, or options."""
    commands = all_commands()
    name = "exanet"
    for word in line.split():
        if f"{name} {word}" not in commands:
            break
        name = f"{name} {word}"
    if name == "exanet":
        return [line.split()[0]]
    own = re.split(r"\s--(?=\s|$)", line)[0]  # what follows -- belongs to the program
    known = options_of(commands[name]) | {"--help", "--"}
    return [f"{name} {option}" for option in re.findall(r"(?<!\S)\[?(--?[a-zA-Z][\w-]*)", own) if option not in known]


def test_command_line_pages_are_up_to_date() -> None:
    pages = generator().pages()
    committed = {file: (ROOT / "docs" / "reference" / file).read_text(encoding="utf-8") for file in pages}
    assert committed == pages, "run: make man"


def test_every_command_and_option_says_what_it_does() -> None:
    commands = all_commands()
    assert {"exanet check", "exanet sim jobs"} <= set(commands)
    silent = [f"{name} {p.name}" for name, command in commands.items() for p in command.params if not getattr(p, "help", None)]
    assert silent == []
    assert [name for name, command in commands.items() if not command.help] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@functools.cache
def anchors(page: Path) -> set[str]:
    """Names of the page's sections, as GitHub makes them of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    heads = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_sections_lead_to_one(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", page.read_text())
    targets = [((page.parent / path) if path else page, name) for path, name in links]
    assert [f"{path}#{name}" for path, name in targets if path.suffix == ".md" and path.exists() and name not in anchors(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_in_the_pages_exist(page: Path) -> None:
    names = "|".join(sorted({name.split()[1] for name in all_commands() if " " in name}))
    text = page.read_text()
    lines = re.findall(rf"exanet ((?:{names})\b[^\n`\]]*)", text)
    lines += re.findall(r"(?:^|`)(?:    )?\$? ?exanet ([a-z][\w-]*[^\n`\]]*)", text, re.MULTILINE) if page.name != "CHANGELOG.md" else []
    assert [wrong for line in lines for wrong in unknown(line)] == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("check torus-512 --channels 1", []),
        ("check torus-512 --chanels 1", ["exanet check --chanels"]),
        ("sim -m torus-512 --job barrier --threads 2", []),
        ("sim jobs -m torus-512 --threads 2", ["exanet sim jobs --threads"]),
        ("run -m exanest -n 4 -- lmp --in in.lj", []),
        ("simulate", ["simulate"]),
    ],
)
def test_a_command_or_option_that_there_is_not_is_found(line: str, wrong: list[str]) -> None:
    assert unknown(line) == wrong


def test_the_line_of_python_on_simulation_runs() -> None:
    import exanet.sim

    [line] = re.findall(r"`(exanet\.sim\.simulate\(.*\))`", (ROOT / "docs" / "simulate.md").read_text())
    assert eval(line, {"exanet": exanet})["accepted_load"] > 0
