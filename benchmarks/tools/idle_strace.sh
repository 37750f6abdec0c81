#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Shows that an idle program with open queues makes no system calls.
# Usage: benchmarks/tools/idle_strace.sh [IDLE_PROGRAM [SECONDS]]
# Counts the system calls of all threads, from one second after the program went idle until it wakes up. The exit status
# is 1 if there are any.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/scripts/lib/deps.sh"
need_packages strace

program=${1:-$root/build/bench/benchmarks/macro/idle}
seconds=${2:-10}
[ -x "$program" ] || { echo "error: $program is not there; build it: cmake --build --preset bench" >&2; exit 2; }
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT

# -C prints every call with its time, and then the table of -c. strace writes a call when it begins, and again when it
# returns if another thread made a call in between; both lines mean that a thread was awake.
strace -f -C -ttt -o "$trace" "$program" --seconds "$seconds"

sed -n '/^% time/,$p' "$trace"
awk '
    /write\(2, "idle begins/ { from = $2 + 1 }
    # The idle time ends when the sleep of the main thread ends.
    /write\(2, "idle ends/ { to = $2 - 0.01 }
    $2 ~ /^[0-9]+\.[0-9]+$/ { time[NR] = $2; line[NR] = $0; last = NR }
    END {
        if (!from || !to || to <= from) { print "error: the trace does not show the idle time"; exit 2 }
        for (i = 1; i <= last; ++i)
            if ((i in time) && time[i] >= from && time[i] < to) { ++calls; if (calls <= 20) print line[i] }
        printf "\nsystem calls from second 1 to second %.1f of idling: %d\n", to - from + 1, calls
        exit calls > 0
    }' "$trace"
