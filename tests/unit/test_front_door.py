# SPDX-License-Identifier: Apache-2.0
"""Do the files around the sources (citation, container images, issue forms) say what the sources say?"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
FORMS = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def read(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


def debian_packages(purpose: str) -> set[str]:
    """What tools/setup.sh installs with apt-get for one of its purposes."""
    (function,) = re.findall(r"^debian_packages\(\) \{.*?^\}", (ROOT / "tools/setup.sh").read_text(), re.DOTALL | re.MULTILINE)
    script = f"purpose={purpose}\n{function}\ndebian_packages"
    return set(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split())


def installed_in_stages() -> list[set[str]]:
    """The Debian packages of each stage of the Dockerfile that installs any."""
    lines = re.findall(r"apt-get install ([^\\&]*)", DOCKERFILE)
    return [{word for word in line.split() if not word.startswith("-")} for line in lines]


def test_versions_are_those_of_the_project() -> None:
    citation = read(ROOT / "CITATION.cff")
    version = PROJECT["version"]
    assert str(citation["version"]) == version
    assert f"\n## {version}, {citation['date-released']}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"exanet:ip:exanet:{version}\n" in (ROOT / "gateware/exanet.core").read_text()
    assert citation["license"] == PROJECT["license"]


def test_the_image_is_built_with_the_packages_of_setup() -> None:
    build, run = installed_in_stages()
    assert build == debian_packages("wheel") | {"g++", "make"}, "setup.sh expects a compiler and make: README.md, Requirements"
    assert run == {"python3-venv"}
    assert "RUN make wheel\n" in DOCKERFILE


def test_setup_has_no_option_that_the_pip_of_debian_lacks() -> None:
    """A virtual environment of Debian 12 has pip 23.0.1, which knows --config-settings, but not its short form -C."""
    setup = (ROOT / "tools/setup.sh").read_text()
    assert "--config-settings=" in setup
    assert re.findall(r"\s-C\S*", setup) == []


def test_the_image_has_the_pinned_mpi() -> None:
    pinned = [each for each in PROJECT["optional-dependencies"]["mpi"] if re.match(r"(mpich|mpi4py)==", each)]
    assert len(pinned) == 2
    assert re.findall(r"(?:mpich|mpi4py)==\S+", DOCKERFILE) == pinned


def test_the_image_does_not_run_as_root() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^RUN useradd .* exanet$.*^USER exanet$", last, re.DOTALL | re.MULTILINE)
    assert last.rindex("USER exanet") > last.rindex("RUN ")


def test_the_development_container_is_a_stage_of_the_image() -> None:
    described = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    build = described["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).samefile(ROOT / "Dockerfile")
    assert (ROOT / ".devcontainer" / build["context"]).samefile(ROOT)
    assert re.search(rf"^FROM \S+ AS {build['target']}$", DOCKERFILE, re.MULTILINE)
    (purpose,) = re.findall(r"^make setup-(\S+)$", described["postCreateCommand"])
    assert purpose in (ROOT / "tools/setup.sh").read_text().partition("# usage:")[2].partition("\n")[0]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_forms_have_what_github_requires(form: Path) -> None:
    """GitHub's syntax for issue forms: name, description and body; an element has a type of five, all but texts an id
    of their own and a label."""
    content = read(form)
    assert all(content[key] for key in ("name", "description", "body"))
    elements = [element for element in content["body"] if element["type"] != "markdown"]
    assert elements
    ids = [element["id"] for element in elements]
    assert len(set(ids)) == len(ids)
    for element in elements:
        assert element["type"] in ("input", "textarea", "dropdown", "checkboxes")
        assert element["attributes"]["label"]
        assert re.fullmatch(r"[\w-]+", element["id"])


def test_there_is_a_form_for_a_bug_a_question_and_a_feature() -> None:
    assert [form.stem for form in FORMS] == ["bug", "feature", "question"]
    assert read(ROOT / ".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": True}
    asked = {element["id"] for element in read(ROOT / ".github/ISSUE_TEMPLATE/bug.yml")["body"]}
    assert {"command", "version", "machine-file", "expected", "seen"} <= asked
