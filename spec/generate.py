# SPDX-License-Identifier: Apache-2.0
"""Writes from spec/packet.yaml, descriptors.yaml and trace.yaml what SystemVerilog, C++, C, Python and the
documentation say about bits.

usage: python spec/generate.py [--check]

With --check nothing is written; the exit status is 1 when a committed file is not what would be written.
"""

from __future__ import annotations

import sys
from pathlib import Path

import emit_packet
import emit_records
import emit_traces
from layouts import load
from records import load_records
from traces import load_traces

ROOT = Path(__file__).resolve().parent.parent


def outputs() -> dict[Path, str]:
    """Text of each generated file. Raises ValueError when a layout is not what it says."""
    packet, descriptors = ROOT / "spec/packet.yaml", ROOT / "spec/descriptors.yaml"
    spec, layouts = load(packet)
    records = load_records(descriptors)
    traces = load_traces(ROOT / "spec/trace.yaml")
    return {
        ROOT / "gateware/common/rtl/exanet_pkg.sv": emit_packet.system_verilog(spec, layouts),
        ROOT / "core/spec/packet.hpp": emit_packet.cpp(spec, layouts),
        **{ROOT / f"docs/reference/{name}.md": text for name, text in emit_packet.markdown(spec, layouts).items()},
        ROOT / "exanet/karma/layouts.py": emit_packet.python(spec, layouts),
        ROOT / "gateware/common/rtl/exanet_descriptor_pkg.sv": emit_records.system_verilog(load_records(descriptors, software=False)),
        ROOT / "core/spec/descriptors.hpp": emit_records.cpp(records),
        ROOT / "runtime/include/exanet/descriptors.h": emit_records.c(records),
        **{ROOT / f"docs/reference/{name}.md": text for name, text in emit_records.markdown(records).items()},
        ROOT / "core/replay/trace_format.h": emit_traces.c_names(traces),
        ROOT / "core/replay/stream_fields.hpp": emit_traces.cpp_fields(traces),
        ROOT / "runtime/record/fields.h": emit_traces.c_fields(traces),
        ROOT / "exanet/trace/layout.py": emit_traces.python(traces),
        ROOT / "docs/reference/trace.md": emit_traces.markdown(traces),
    }


def main() -> int:
    files = outputs()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)}: error: not what spec/*.yaml says; run `python spec/generate.py`", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
