# SPDX-License-Identifier: Apache-2.0
# An image with ExaNet's wheel, MPICH and mpi4py, without a compiler:
#   docker build -t exanet .
#   docker run --rm --user "$(id -u)" -v "$PWD:/work" exanet run -m exanest -n 16 -- python my_program.py

# What tools/setup.sh installs for a wheel, and the compiler and make that it expects; the development container
# (.devcontainer) is this stage.
FROM debian:12 AS tools
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ make libfabric-dev python3-dev python3-venv \
 && rm -rf /var/lib/apt/lists/*

FROM tools AS build
WORKDIR /source
COPY . .
RUN make wheel

FROM debian:12-slim
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /source/dist /tmp/dist
RUN python3 -m venv /opt/exanet \
 && /opt/exanet/bin/pip install -q --no-cache-dir /tmp/dist/exanet-*.whl mpich==5.0.2 mpi4py==4.1.2 \
 && rm -r /tmp/dist
ENV PATH=/opt/exanet/bin:$PATH
RUN useradd --create-home exanet
USER exanet
WORKDIR /work
ENTRYPOINT ["exanet"]
CMD ["--help"]
