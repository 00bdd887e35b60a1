# SPDX-License-Identifier: Apache-2.0
"""Is a tree the same, with its places, whether libyaml or ruamel.yaml has read it?"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from exanet import machine
from exanet.errors import InputError
from exanet.machine import located

ROOT = Path(__file__).parents[2]
FILES = sorted(
    file for folder in ("machines", "examples", "spec", "tests") for file in (ROOT / folder).rglob("*.yaml") if ".run" not in str(file)
)
WORDS = """\
words: [yes, no, on, Off, true, False, TRUE, null, ~, Null, '', "1", '2']
numbers: [1, 017, 0o17, 0x1f, 1_000, 1:30, 1.5, 1e3, 1.e+3, .5, -.inf, .NaN, +12, 2001-01-01, 0b11]
nested: {a: {b: [c, {d: e}]}, "q:": 1, ? k : v}
text: |
  two
  lines
folded: >-
  one
  line   # no comment
anchor: &a [1, 2]
again: *a
é: µs  # a comment
"""


def read(data: bytes, monkeypatch: pytest.MonkeyPatch, *, fast: bool) -> located.Located:
    monkeypatch.setattr(yaml, "__with_libyaml__", fast)
    return located.parse(data, "a.yaml")


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize("data", [WORDS.encode(), *(file.read_bytes() for file in FILES)], ids=["words", *(file.stem for file in FILES)])
def test_both_readers_agree(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, slow = (read(data, monkeypatch, fast=fast) for fast in (True, False))
    assert repr(fast) == repr(slow)  # NaN is not itself


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 500_000, "not valid YAML|nested too deeply"),
        ("a: " + "{a: " * 60 + "1" + "}" * 60, "nested too deeply"),
        ("a: &a [*a]", "nested too deeply"),
        ("a: *b", "not valid YAML"),
        ("a: [1, 2", "not valid YAML"),
        ("a: !!python/object:os.system {}\nb: c: d", "not valid YAML"),
        ("a: \x07", "not valid YAML|not readable"),
    ],
    ids=["deep", "deep mappings", "recursive", "no anchor", "open", "tag", "control character"],
)
def test_what_neither_reads_is_one_message(text: str, message: str, monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    if fast and not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    with pytest.raises(InputError, match=message) as raised:
        read(text.encode(), monkeypatch, fast=fast)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('extends: "a\\ud800.yaml"\nname: a\n', "1:10"),
        ('extends: torus-512\nname: a\ntopology: {kind: graph, shape: [1], order: null, file: "a\\0b"}\n', "3:56"),
        ('extends: torus-512\nname: a\ntopology: {kind: graph, shape: [1], order: null, file: "a\\ud800b"}\n', "3:56"),
        ('extends: torus-512\nname: "a\\n"\n', "2:7"),
    ],
)
def test_a_name_that_can_be_none_is_reported(tmp_path: Path, text: str, place: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as raised:
        machine.load(file)
    assert f"a.yaml:{place}: error: " in str(raised.value)
