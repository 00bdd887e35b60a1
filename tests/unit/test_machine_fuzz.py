# SPDX-License-Identifier: Apache-2.0
"""Hostile machine files: whatever the bytes, a machine or messages, never a traceback."""

import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exanet import machine
from exanet.errors import InputError

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["6.4 ns", "4 KiB", "64 bit", "10 Gb/s", "4 cycles", "32 words", "mesh", "published", "exanest", "1e99 ns", "0x10"]),
)
KEYS = st.one_of(
    st.sampled_from(["name", "description", "extends", "hardware", "packaging", "topology", "router", "links", "ni", "value", "source"]),
    st.sampled_from(["kind", "shape", "mailbox", "clock", "intra-qfdb", "link"]),
    st.text(max_size=8),
)
TREES = st.recursive(SCALARS, lambda child: st.one_of(st.lists(child, max_size=4), st.dictionaries(KEYS, child, max_size=6)), max_leaves=25)
SYNTAX = st.text(alphabet="ab:{}[]&*!|>-#%@`'\",? \n\t\x00\x85\ufeff0123456789.eE<", max_size=80)


def outcome(file: Path) -> bool:
    """Whether the file is taken; a refusal must say where, and in one line, what is wrong."""
    try:
        machine.load(file).resolve()
        return True
    except InputError as refusal:
        assert refusal.messages
        for message in refusal.messages:
            assert re.match(r".+?:\d+:\d+: error: \S", message) or "there is no machine" in message or "cannot be read" in message, message
            assert "\n" not in message
        return False


def flow(tree: object) -> str:
    """A tree as YAML in flow style; strings are quoted or bare as they come."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(flow(value) for value in tree) + "]"
    if isinstance(tree, str) and not re.fullmatch(r"[a-z0-9][a-zA-Z0-9 ./]*", tree):
        return '"' + tree.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    return "null" if tree is None else str(tree)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=TREES, on_exanest=st.booleans())
def test_random_trees(tmp_path: Path, tree: object, on_exanest: bool) -> None:
    lines = ["extends: exanest", "name: fuzz"] if on_exanest else []
    if isinstance(tree, dict):
        lines += [f"{flow(str(key))}: {flow(value)}" for key, value in tree.items()]
    else:
        lines.append(flow(tree))
    file = tmp_path / "fuzz.yaml"
    file.write_text("\n".join(lines), encoding="utf-8", errors="replace")
    outcome(file)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.one_of(st.binary(max_size=100), SYNTAX.map(str.encode)))
def test_random_bytes(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "fuzz.yaml"
    file.write_bytes(data)
    outcome(file)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(at=st.integers(0, 10**6), length=st.integers(0, 12), patch=st.one_of(st.binary(max_size=12), SYNTAX.map(str.encode)))
def test_damaged_prototype(tmp_path: Path, at: int, length: int, patch: bytes) -> None:
    whole = machine.shipped()["exanest"].read_bytes()
    at %= len(whole)
    file = tmp_path / "fuzz.yaml"
    file.write_bytes(whole[:at] + patch + whole[at + length :])
    outcome(file)


def test_a_file_of_aliases_does_not_explode(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    file = tmp_path / "fuzz.yaml"
    file.write_text("\n".join(lines))
    assert not outcome(file)


def test_a_value_inside_itself_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "fuzz.yaml"
    file.write_text("name: &a [*a]\n")
    assert not outcome(file)
