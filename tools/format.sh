#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-format with the given options (-i, --dry-run --Werror) over C and C++; .clang-format-ignore names what is
# generated.
set -euo pipefail
cd "$(dirname "$0")/.."
find core runtime exanet gateware bench examples tests \( -name '*.[ch]' -o -name '*.[ch]pp' \) -print0 | xargs -0 .venv/bin/clang-format "$@"
