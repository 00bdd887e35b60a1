# SPDX-License-Identifier: Apache-2.0
"""A file with all ranks of a program has a part for each of them; one that lacks a rank is refused at once, however
many ranks it says that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from exanet.errors import InputError
from exanet.trace import convert


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("num_ranks 3\nrank 0 {\n}\nrank 2 {\n}\n", ":5:1: error: the file ends without a section for rank 1 of 3; write each"),
        (
            "num_ranks 4194304\nrank 0 {\ncalc 5\n}\n",
            ":4:1: error: the file ends without a section for ranks 1, 2, 3, 4,",
        ),
        ("num_ranks 2\n", ":1:1: error: the file ends without a section for ranks 0, 1 of 2"),
        (f"num_ranks {'9' * 5000}\n", ":1:1: error: num_ranks 999"),
        (f"num_ranks 1\nrank {'9' * 5000} {{\n}}\n", ":2:1: error: rank 999"),
        (f"num_ranks 1\nrank 0 {{\ncalc {'9' * 5000}\n}}\n", ":3:1: error: a calculation of 1000000000000000000000000000000 ns"),
    ],
)
def test_a_schedule_has_a_section_for_each_rank(text: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "u.goal").write_text(text)
    with pytest.raises(InputError) as said:
        convert.convert(tmp_path / "u.goal", tmp_path / "u", {})
    assert str(said.value).startswith(f"{tmp_path / 'u.goal'}{what}")
    assert [path.name for path in tmp_path.iterdir()] == ["u.goal"]


def test_one_file_of_actions_has_those_of_each_rank(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("0 init\n0 finalize\n4194303 init\n")
    with pytest.raises(InputError, match=r"all\.txt: rank 1 of 4194304 has no actions"):
        convert.convert(tmp_path / "all.txt", tmp_path / "out", {})
