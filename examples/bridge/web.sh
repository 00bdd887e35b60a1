#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A web server and its client in two network namespaces, behind two corners of a simulated torus (docs/bridge.md).
#
# usage: web.sh FOLDER [options of exanet bridge]
# Fetches each file of FOLDER once. Needs root and /dev/net/tun.
set -eu
folder=$1
shift
log=$(mktemp)
exanet bridge -m torus-2x2x2 --tap 0=client --tap 7=server "$@" >"$log" &
bridge=$! server=
trap 'kill $server "$bridge" 2>/dev/null || :; rm -f "$log"' EXIT
until grep -q "The bridge is up" "$log"; do
    kill -0 "$bridge"
    sleep 0.1
done
ip netns exec exanet-server python3 -m http.server 8000 --directory "$folder" >/dev/null 2>&1 &
server=$!
ip netns exec exanet-client python3 - "$folder" <<'END'
import os, sys, time, urllib.error, urllib.request

def fetch(name):
    with urllib.request.urlopen(f"http://10.77.0.2:8000/{name}", timeout=60) as answer:
        return answer.read()

for name in sorted(os.listdir(sys.argv[1])):
    for attempt in range(100):  # the server takes a moment to start
        try:
            start = time.monotonic()
            content = fetch(name)
            break
        except urllib.error.URLError:
            time.sleep(0.1)
    print(name, len(content), "bytes", f"{1e3 * (time.monotonic() - start):.1f} ms", flush=True)
END
kill "$server"
kill -INT "$bridge"
wait "$bridge"
cat "$log"
