# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

from exanet import machine
from exanet.machine import reference

PAGE = Path(__file__).parents[2] / "docs/reference/machine-files.md"


def test_the_committed_page_is_what_the_schema_says() -> None:
    assert PAGE.read_text() == reference.text(), "run: python -m exanet.machine.reference > docs/reference/machine-files.md"


def test_the_example_on_the_page_is_a_machine(tmp_path: Path) -> None:
    example = PAGE.read_text().split("```yaml\n")[1].split("```")[0]
    file = tmp_path / "my-machine.yaml"
    file.write_text(example)
    assert machine.load(file).resolve()["links"][1]["word_time_ps"] == 1600
