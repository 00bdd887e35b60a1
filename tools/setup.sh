#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Brings a Debian 12 machine to where ExaNet runs: Debian packages that are missing, a virtual environment, the package
# itself.
# usage: tools/setup.sh run|test|bench|lint|gateware|formal|synth|docs|package|wheel, or mpich-riscv64, which builds
# MPICH for programs of RISC-V and is no part of the others.
# `test` leaves the package itself to `package`, which is a part of the tests (tools/parts.py). `bench` and `wheel`
# build it with link-time optimisation, as it is released, in twice the time.
# Does nothing, in well under a second, when everything is there and no source is newer than the installed package.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:?usage: tools/setup.sh run|test|bench|lint|gateware|formal|synth|docs|package|wheel|mpich-riscv64}
venv=.venv
# Caches of pip and uv are used where the user has them, and none is made outside this folder.
[ -d "${XDG_CACHE_HOME:-$HOME/.cache}/pip" ] || export PIP_CACHE_DIR=$PWD/build/cache/pip
[ -d "${XDG_CACHE_HOME:-$HOME/.cache}/uv" ] || export UV_CACHE_DIR=$PWD/build/cache/uv

debian_packages() {
  [ "$purpose" != mpich-riscv64 ] || { echo gcc-riscv64-linux-gnu libc6-dev-riscv64-cross qemu-user gcc make xz-utils; return; }
  echo libfabric-dev python3-dev python3-venv
  case $purpose in
    test) echo openmpi-bin libopenmpi-dev lammps hpcc iperf3 iproute2 iputils-ping doctest-dev chromium patch perl tcl g++ ccache \
      python3-h5py-mpi python3-mpi4py qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross ;;
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

# Installs what the lists of pyproject.toml that have these names hold, those that are not there yet, all in one call:
# `build` is what the package is built with, each other one a group of what it needs when it runs, with its own
# requirements. They are pinned there.
install_lists() {
  local list missing=()
  for list in "$@"; do
    fresh "$venv/.exanet-$list" pyproject.toml tools/setup.sh || missing+=("$list")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "setup: installing Python packages: ${missing[*]}"
  $venv/bin/python - "${missing[@]}" >"$venv/.requirements-${missing[0]}" <<'PY'
import sys, tomllib
project = tomllib.load(open("pyproject.toml", "rb"))
for name in sys.argv[1:]:
    if name == "build":
        print(*project["build-system"]["requires"], "cmake>=3.27,<5", "ninja>=1.11,<2", sep="\n")
    else:
        print(*project["project"]["dependencies"], *project["project"]["optional-dependencies"][name], sep="\n")
PY
  install -r "$venv/.requirements-${missing[0]}"
  for list in "${missing[@]}"; do touch "$venv/.exanet-$list"; done
}

# uv installs in a tenth of pip's time. It looks for packages where pip is configured to. What a run imports is compiled
# here, as pip does it: where PYTHONDONTWRITEBYTECODE is set, each command would compile it again, which takes 2 s.
install() {
  [ -x $venv/bin/uv ] || pip_install uv==0.13.9
  local places
  mapfile -t places < <($venv/bin/python -m pip config list | $venv/bin/python -c '
import ast, sys
options = {"extra-index-url": "--index", "index-url": "--default-index", "find-links": "--find-links"}
for key, value in (line.rstrip().split("=", 1) for line in sys.stdin):
    for place in ast.literal_eval(value).split() if (name := key.rsplit(".", 1)[-1]) in options else ():
        print(options[name], place, sep="\n")')
  local compile=()
  [ "$purpose" = test ] || compile=(--compile-bytecode)
  $venv/bin/uv pip install -q "${compile[@]}" --python $venv/bin/python "${places[@]}" "$@" ||
    { echo "setup: uv could not install them: pip does it, which takes longer"; pip_install "$@"; }
}

pip_install() {
  $venv/bin/python -m pip install -q --disable-pip-version-check "$@"
}

groups() {
  case $purpose in
    run | bench) echo mpi ;;
    test) echo mpi test otf2 plots gateware jobqueue formal synth place docs notebooks lint ;;
    lint) echo gateware lint ;;
    gateware) echo gateware ;;
    formal) echo formal ;;
    docs) echo docs ;;
    synth) echo gateware synth place ;;
    wheel) echo wheel ;;
  esac
}

case $purpose in
  bench | wheel) lto=ON ;;
  *) lto=OFF ;;
esac

# The stamp says whether the package was built with link-time optimisation. Such a one serves everywhere.
package_is_fresh() {
  fresh $venv/.exanet-installed pyproject.toml CMakeLists.txt core runtime exanet gateware machines docs/man &&
    { [ $lto = OFF ] || grep -qx "lto ON" $venv/.exanet-installed; }
}

build_package() {
  local begin=$SECONDS
  echo "setup: building ExaNet"
  rm -f build/package/*.whl
  CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} PATH=$PWD/$venv/bin:$PATH \
    $venv/bin/python -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
    --config-settings=cmake.define.EXANET_LTO=$lto -w build/package .
  echo "setup: built ExaNet in $((SECONDS - begin)) s"
}

install_package() {
  pip_install --no-deps --force-reinstall build/package/*.whl
  echo "lto $lto" >$venv/.exanet-installed
}

# MPICH for another processor, which the tests run programs with.
install_mpich_for_aarch64() {
  local to=build/mpich-aarch64 wheels=build/cache/wheels-aarch64
  [ -d $to ] && return
  rm -rf $to.part
  $venv/bin/python -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform manylinux_2_28_aarch64 -d $wheels "$(grep -o 'mpich==[0-9.]*' pyproject.toml)"
  $venv/bin/python -m zipfile -e $wheels/mpich-*.whl $to.part
  mv $to.part/mpich-*.data/data $to
  rm -rf $to.part
}

# The packet-level simulator that `make bench` compares with, in Rust. Without cargo its rows are left out.
install_caminos() {
  [ -x build/caminos/bin/caminos ] && return
  command -v cargo >/dev/null || { echo "setup: no cargo here: install Rust for the comparison with CAMINOS"; return 0; }
  echo "setup: building CAMINOS"
  cargo install --quiet --locked --version 0.6.3 --root build/caminos caminos
}

install_debian
[ "$purpose" != mpich-riscv64 ] || exec tools/mpich_riscv64.sh
[ -x $venv/bin/python ] || python3 -m venv $venv
case $purpose in
  run | package | bench)
    install_lists build
    # The processors compile while packages come over the network.
    install_lists $(groups) &
    installing=$!
    package_is_fresh || build_package
    wait $installing
    package_is_fresh || install_package
    ;;
  wheel)
    install_lists build $(groups)
    build_package
    ;;
  *) install_lists build $(groups) ;;
esac
[ "$purpose" != bench ] || install_caminos
[ "$purpose" != test ] || install_mpich_for_aarch64
