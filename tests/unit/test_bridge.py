# SPDX-License-Identifier: Apache-2.0
"""Interfaces of a bridge as they are written, and what is said where none can be made. Needs no rights."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from exanet.bridge import namespaces, options, run, taps
from exanet.bridge.options import Tap, parse
from exanet.errors import InputError
from exanet.machine import load


def test_interfaces_have_what_is_given_and_the_rest_by_default() -> None:
    first, second, third = parse(
        ["0=tap0", "7=b,address=fd00::1/64,mac=02:00:00:00:00:0A,mtu=9000,netns=there", "direct=c,address=none,netns=host"], mtu=1500
    )
    assert first == Tap(0, "tap0", "02:65:78:61:00:01", "10.77.0.1/24", 1500, None)
    assert (first.namespace, first.place, first.mac_number) == ("exanet-tap0", "node 0", 0x026578610001)
    assert second == Tap(7, "b", "02:00:00:00:00:0a", "fd00::1/64", 9000, "there")
    assert (second.namespace, third.namespace) == ("there", "")
    assert third == Tap(None, "c", "02:65:78:61:00:03", "", 1500, "host")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tap0", "'tap0' is not understood; give NODE=NAME"),
        ("x=tap0", "'x=tap0' is not understood"),
        ("-1=tap0", "'-1=tap0' is not understood"),
        ("1=", "'1=' is not understood"),
        ("1=much-too-long-for-linux", "is no name of an interface"),
        ("1=a b", "is no name of an interface"),
        ("1=a/b", "is no name of an interface"),
        ("1=..", "is no name of an interface"),
        ("1=b,speed=3", "'speed=3' is not understood"),
        ("1=b,mtu=9000,mtu=1500", "'mtu' is given twice"),
        ("1=b,mtu=67", "not a whole number from 68 to 65521"),
        ("1=b,mtu=65522", "not a whole number from 68 to 65521"),
        ("1=b,mac=01:00:00:00:00:01", "is no address of one interface"),
        ("1=b,mac=00:00:00:00:00:00", "is no address of one interface"),
        ("1=b,mac=02:00:00:00:01", "is no address of one interface"),
        ("1=b,address=10.0.0.256/24", "'10.0.0.256/24' is no address"),
        ("1=b,netns=../x", "is no name of a namespace"),
    ],
)
def test_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(InputError) as raised:
        parse(["0=tap0", text], mtu=1500)
    assert said in str(raised.value)
    assert str(raised.value).startswith(f"--tap {text}: ")


def test_all_mistakes_are_named_at_once() -> None:
    with pytest.raises(InputError) as raised:
        parse(["0=a,mtu=1", "1=b,mac=x"], mtu=1500)
    assert len(raised.value.messages) == 2


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["0=a"], "at least two interfaces"),
        ([f"{i}=t{i}" for i in range(65)], "at most 64 interfaces"),
        (["0=a", "1=a"], "two interfaces have the name a"),
        (["3=a", "3=b"], "two interfaces have the node 3"),
        (["0=a,mac=02:00:00:00:00:01", "1=b,mac=02:00:00:00:00:01"], "two interfaces have the MAC address 02:00:00:00:00:01"),
    ],
)
def test_interfaces_that_do_not_go_together(texts: list[str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse(texts, mtu=1500)


def test_without_the_device_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(taps, "DEVICE", tmp_path / "tun")
    with pytest.raises(InputError, match=r"there is no .*tun: load the kernel's module \(modprobe tun\)"):
        taps.check()


def test_without_rights_that_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tun").touch()
    monkeypatch.setattr(taps, "DEVICE", tmp_path / "tun")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(InputError, match="take root's rights"):
        taps.check()


def test_a_node_that_has_failed_has_no_interface(tmp_path: Path) -> None:
    machine = tmp_path / "machine.yaml"
    machine.write_text("extends: torus-2x2x2\nname: broken\ntopology: {failed: ['(1,0,0)']}\n")
    given = options.Options(str(machine), parse(["0=a", "1=b"], mtu=1500))
    with pytest.raises(InputError, match="--tap b: node 1 has failed"):
        run.bridge(given, load(str(machine)), lambda: None)


@pytest.mark.parametrize("slow", [0.5, float("nan"), float("inf"), -1.0])
def test_a_network_that_is_faster_than_the_host_is_refused(slow: float) -> None:
    given = options.Options("torus-2x2x2", parse(["0=a", "1=b"], mtu=1500), slow=slow)
    with pytest.raises(InputError, match=f"--slow {slow:g}: the network's time goes at most as fast as the host's"):
        run.bridge(given, load("torus-2x2x2"), lambda: None)


def test_what_a_process_that_is_gone_has_left_is_removed_and_nothing_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    removed = []
    monkeypatch.setattr(namespaces, "RECORDS", tmp_path)
    monkeypatch.setattr(namespaces, "exists", lambda name: True)
    monkeypatch.setattr(namespaces, "ip", lambda *words: removed.append(words[-1]))
    own = namespaces._identity("self")
    pid, start = own.split()
    (tmp_path / "mine").write_text(own)
    (tmp_path / "another-of-my-number").write_text(f"{pid} {int(start) - 1}\n")
    (tmp_path / "gone").write_text("999999999 5\n")
    (tmp_path / "damaged").write_text("")
    assert namespaces.clean() == ["another-of-my-number", "damaged", "gone"] == removed
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
