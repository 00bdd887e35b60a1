#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds MPICH for RISC-V, of which neither Debian 12 nor PyPI has a package, from Debian's source into
# build/mpich-riscv64. Programs for `exanet run --cpu u740` are compiled with it (docs/cpu.md).
# usage: tools/setup.sh mpich-riscv64, which installs the compiler first. JOBS: compilers side by side.
#
# MPICH is configured as PyPI's for AArch64 is, with its network by libfabric (ch4:ofi), and without what programs in
# simulated networks do not use: Fortran, C++, MPI-IO, UCX, a launcher. Of libfabric's own providers one is left, as its
# configure wants one; runs load the simulator's.
set -euo pipefail
cd "$(dirname "$0")/.."
mirror=http://deb.debian.org/debian version=4.0.2-3
to=$PWD/build/mpich-riscv64 work=$PWD/build/mpich-riscv64.part
[ -e "$to/lib/libmpi.so.12" ] && exit

# apt checks the source's signature. Its lists are folders of this build's own, so that neither root nor a line of
# deb-src in the system's lists is needed.
fetch_source() {
  mkdir -p "$work/lists/partial"
  printf 'Types: deb-src\nURIs: %s\nSuites: bookworm\nComponents: main\nSigned-By: %s\n' \
    "$mirror" /usr/share/keyrings/debian-archive-keyring.gpg >"$work/debian.sources"
  local own=(-o Dir::Etc::SourceList="$work/debian.sources" -o Dir::Etc::SourceParts=/dev/null
    -o Dir::State::Lists="$work/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=)
  apt-get -qq "${own[@]}" update
  (cd "$work" && apt-get -qq "${own[@]}" source --download-only "mpich=$version")
  tar -xJf "$work/mpich_${version%-*}.orig.tar.xz" -C "$work"
}

configure_mpich() {
  local compiler=riscv64-linux-gnu-gcc
  if command -v ccache >/dev/null; then compiler="ccache $compiler"; fi
  mkdir -p "$work/build"
  local without=(psm psm2 psm3 verbs sockets tcp rxm rxd shm mrail rstream usnic efa gni bgq perf hook_debug)
  (cd "$work/build" && "../mpich-${version%-*}/configure" --build="$(gcc -dumpmachine)" --host=riscv64-linux-gnu \
    --prefix="$to" --with-device=ch4:ofi --with-libfabric=embedded --without-ucx --with-datatype-engine=dataloop \
    --with-hwloc=no --with-pm=no --disable-fortran --disable-cxx --disable-romio --disable-doc --disable-static \
    --enable-fast=O2,ndebug --enable-udp "${without[@]/#/--disable-}" \
    CC="$compiler" LIBS=-lm CFLAGS= MPICHLIB_CFLAGS=) >"$work/log" 2>&1
}

failed() {
  echo "setup: MPICH for RISC-V could not be built; the last lines of $work/log:" >&2
  tail -n 20 "$work/log" >&2
  exit 1
}

begin=$SECONDS
rm -rf "$work" "$to"
echo "setup: building MPICH for RISC-V (once; about a quarter of an hour on two processors)"
fetch_source
configure_mpich || failed
make -C "$work/build" -j "${JOBS:-$(nproc)}" >>"$work/log" 2>&1 || failed
make -C "$work/build" install >>"$work/log" 2>&1 || failed
rm -rf "$work"
echo "setup: built MPICH for RISC-V in $((SECONDS - begin)) s; programs find it in $to"
