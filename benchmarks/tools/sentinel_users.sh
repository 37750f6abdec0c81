#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# The sentinel benchmark as root and as a user without privileges: benchmarks/tools/sentinel_users.sh [ARGUMENT...]
# The arguments go to the benchmark. Needs root, to become both.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$root/build/bench/benchmarks/macro/sentinel
nobody=65534
[ -x "$program" ] || { echo "error: $program is not there; build it: cmake --build --preset bench" >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "error: needs root, to run as root and as somebody else" >&2; exit 2; }
command -v setpriv >/dev/null || { echo "error: needs setpriv, of the package util-linux" >&2; exit 2; }

# A copy, because the build folder may be closed to others.
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
