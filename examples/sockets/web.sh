#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A web server on rank 0 and a client on every other rank, over the simulated network (docs/sockets.md):
#   exanet run -m torus-2x2x2 -n 2 --map round-robin --compute off --sockets fabric -- examples/sockets/web.sh FOLDER
case $EXANET_RANK in
0) exec python3 -m http.server 8000 --directory "$1" ;;
*) exec python3 "$(dirname "$0")/fetch.py" "$1" ;;
esac
