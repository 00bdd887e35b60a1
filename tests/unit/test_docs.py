# SPDX-License-Identifier: Apache-2.0
"""Is what can be typed written down, and does what is written down exist?"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import typer.main

from exanet.cli import app

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def generator() -> str:
    spec = importlib.util.spec_from_file_location("generate_cli", ROOT / "docs" / "generate_cli.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return str(module.page())


def test_command_line_page_is_up_to_date() -> None:
    committed = (ROOT / "docs" / "reference" / "cli.md").read_text()
    assert committed == generator(), "run: python docs/generate_cli.py > docs/reference/cli.md"


def test_every_command_and_option_says_what_it_does() -> None:
    group = typer.main.get_command(app)
    commands = {"exanet": group, **getattr(group, "commands", {})}
    silent = [f"{name} {p.name}" for name, command in commands.items() for p in command.params if not getattr(p, "help", None)]
    assert silent == []
    assert [name for name, command in commands.items() if not command.help] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_in_the_pages_exist(page: Path) -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    wrong = []
    for name, rest in re.findall(r"exanet (run|karma|sim|sweep|machines|validate)\b([^\n`]*)", page.read_text()):
        if name not in commands:
            wrong.append(name)
            continue
        known = {opt for p in commands[name].params for opt in [*p.opts, *p.secondary_opts]} | {"--help", "--"}
        own = re.split(r"\s--(?=\s|$)", rest)[0]  # what follows -- belongs to the program
        wrong += [f"{name} {option}" for option in re.findall(r"(?<!\S)\[?(--?[a-zA-Z][\w-]*)", own) if option not in known]
    assert wrong == []


def test_the_line_of_python_on_simulation_runs() -> None:
    import exanet.sim

    [line] = re.findall(r"`(exanet\.sim\.simulate\(.*\))`", (ROOT / "docs" / "simulate.md").read_text())
    assert eval(line, {"exanet": exanet})["accepted_load"] > 0
