# SPDX-License-Identifier: Apache-2.0
"""Are combinational paths between handshakes found on a netlist, and only those? The project's own tops:
`tools/parts.py handshakes`."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("pyosys")
GATEWARE = Path(__file__).resolve().parents[2] / "gateware"
PORTS = (
    "input logic clk_i, input logic s_valid, output logic s_ready, input logic s_last, input logic [1:0] s_at,"
    " output logic m_valid, input logic m_ready"
)
FORWARD = ("s_valid", "s_ready")
BACK = ("m_ready", "m_valid")


@pytest.fixture(scope="module")
def handshakes() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gateware_handshakes", GATEWARE / "handshakes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("assign s_ready = s_valid; assign m_valid = s_valid;", [FORWARD]),
        ("assign s_ready = m_ready || s_last; assign m_valid = s_valid;", []),
        ("assign s_ready = m_ready; assign m_valid = s_valid && m_ready;", [BACK]),
        ("logic q; always_ff @(posedge clk_i) q <= s_valid; assign s_ready = q; assign m_valid = q;", []),
        ("logic [1:0] sum; assign sum = s_at + 2'(s_valid); assign s_ready = sum[1]; assign m_valid = s_last;", [FORWARD]),
        (
            "logic m[4]; always_ff @(posedge clk_i) m[s_at] <= s_last; assign s_ready = m[{s_valid, s_last}]; assign m_valid = m[s_at];",
            [FORWARD],
        ),
        ("logic m[4]; always_ff @(posedge clk_i) m[{s_valid, m_ready}] <= s_last; assign s_ready = m[s_at]; assign m_valid = m[s_at];", []),
    ],
)
def test_a_path_is_found_through_logic_and_memories_and_not_through_registers(
    handshakes: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, found: list[tuple[str, str]]
) -> None:
    source = tmp_path / "top.sv"
    source.write_text(f"module top({PORTS});\n{body}\nendmodule\n")
    monkeypatch.setattr(handshakes.synth, "needed", lambda _top, _extra: [source])
    result = handshakes.paths(handshakes.netlist("top", {}))
    assert result.paths == found
    assert result.checked == 2


def test_a_dma_engines_frames_have_none(handshakes: ModuleType) -> None:
    result = handshakes.paths(handshakes.netlist("ni_dma_send", {}))
    assert (result.paths, result.checked) == ([], 2)
