#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings a Debian 12 machine to where ExaNet runs: Debian packages that are missing, a virtual environment, the package itself.
# usage: tools/setup.sh run|test|bench|lint|gateware|formal|synth|package
# `test` leaves the package itself to `package`, which is a part of the tests (tools/parts.py).
# Does nothing, in well under a second, when everything is there and no source is newer than the installed package.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:?usage: tools/setup.sh run|test|bench|lint|gateware|formal|synth|package}
venv=.venv
# pip's cache is used where the user has one, and none is made outside this folder.
[ -d "${XDG_CACHE_HOME:-$HOME/.cache}/pip" ] || export PIP_CACHE_DIR=$PWD/build/cache/pip

debian_packages() {
  echo libfabric-dev python3-venv
  case $purpose in
    test) echo openmpi-bin libopenmpi-dev lammps hpcc doctest-dev chromium patch perl tcl g++ ccache ;;
    gateware) echo doctest-dev perl g++ make ;;
    lint) echo doctest-dev g++ ;;
    bench) echo libopenmpi-dev libsimgrid-dev ;;
  esac
}

install_debian() {
  local missing=()
  for package in $(debian_packages); do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "setup: installing Debian packages: ${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: install these Debian packages first: ${missing[*]}" >&2; exit 2; }
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# A stamp is fresh while nothing it stands for is newer.
fresh() {
  local stamp=$1
  shift
  [ -e "$stamp" ] && [ -z "$(find "$@" -newer "$stamp" -type f -not -path '*/__pycache__/*' -print -quit)" ]
}

# The groups of pyproject.toml that are not there yet, all in one call of pip.
make_environment() {
  local groups= group
  for group in $(groups); do
    fresh "$venv/.exanet-$group" pyproject.toml tools/setup.sh || groups+=${groups:+,}$group
  done
  [ -z "$groups" ] && return
  echo "setup: installing Python packages ($groups)"
  [ -x $venv/bin/python ] || python3 -m venv $venv
  # The package's own requirements and those of the groups, pinned in pyproject.toml; the package itself comes next, built in place.
  $venv/bin/python - "$groups" >$venv/.requirements <<'PY'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
wanted = project["build-system"]["requires"] + ["cmake>=3.27,<5", "ninja>=1.11,<2"] + project["project"]["dependencies"]
for group in sys.argv[1].split(","):
    wanted += project["project"]["optional-dependencies"][group]
print("\n".join(wanted))
PY
  $venv/bin/python -m pip install -q --disable-pip-version-check -r $venv/.requirements
  for group in ${groups//,/ }; do touch "$venv/.exanet-$group"; done
}

groups() {
  case $purpose in
    run | bench) echo mpi ;;
    test) echo mpi test otf2 gateware jobqueue formal synth place lint ;;
    lint) echo gateware lint ;;
    gateware) echo gateware ;;
    formal) echo formal ;;
    synth) echo gateware synth place ;;
  esac
}

install_package() {
  local stamp=$venv/.exanet-installed
  fresh "$stamp" pyproject.toml CMakeLists.txt core runtime exanet gateware machines && return
  echo "setup: building ExaNet"
  export CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)}
  PATH=$PWD/$venv/bin:$PATH $venv/bin/python -m pip install -q --disable-pip-version-check --no-build-isolation --no-deps .
  touch "$stamp"
}

# The packet-level simulator that `make bench` compares with, in Rust. Without cargo its rows are left out.
install_caminos() {
  [ -x build/caminos/bin/caminos ] && return
  command -v cargo >/dev/null || { echo "setup: no cargo here: install Rust for the comparison with CAMINOS"; return 0; }
  echo "setup: building CAMINOS"
  cargo install --quiet --locked --version 0.6.3 --root build/caminos caminos
}

install_debian
make_environment
case $purpose in
  run | package | bench) install_package ;;
esac
[ "$purpose" != bench ] || install_caminos
