#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Runs the sentinel benchmark as root and as a user without privileges.
# Usage: benchmarks/tools/sentinel_users.sh [ARGUMENT...]
# The arguments are passed to the benchmark. The script must be run as root, because it runs as both users.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$root/build/bench/benchmarks/macro/sentinel
nobody=65534
[ -x "$program" ] || { echo "error: $program is not there; build it: cmake --build --preset bench" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "error: run this as root: it runs as root and as another user" >&2; exit 2; }
command -v setpriv >/dev/null || { echo "error: setpriv is missing; it is in the package util-linux" >&2; exit 2; }

# A copy, because other users may have no access to the build folder.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
install -m 755 "$program" "$folder/sentinel"

echo "=== root"
"$folder/sentinel" "$@"
echo
echo "=== user $nobody, no capabilities"
setpriv --reuid=$nobody --regid=$nobody --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs \
    "$folder/sentinel" "$@"
