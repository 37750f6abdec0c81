#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The traces of the kernel's timelines, read by Perfetto's own messages: the document's events in the document's order.
The program repeats a timeline until its items note that order themselves; a trace may still come between two of them, so
a trace that does not show it is made again.

  check_timelines.py PROGRAM
"""

import collections
import sys
import tempfile

import timelines

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
except ImportError:
    print("skipped: there is no perfetto, or no protobuf (PyPI)")
    sys.exit(77)

Event = perfetto.TrackEvent


def events_of(path):
    """What a trace has of the document's events, in the order of their times: "w0 sleeps"."""
    with open(path, "rb") as file:
        trace = perfetto.Trace.FromString(file.read())
    names, stacks, found = {}, collections.defaultdict(list), []
    packets = []
    for packet in trace.packet:
        names.update({n.iid: n.name for n in packet.interned_data.event_names})
        if packet.HasField("track_event"):
            packets.append(packet)
    for packet in sorted(packets, key=lambda p: p.timestamp):
        e = packet.track_event
        stack, name = stacks[e.track_uuid], names[e.name_iid] if e.name_iid else ""
        if e.type == Event.TYPE_SLICE_BEGIN:
            item = name.removeprefix("timeline::")
            if item in ("w0", "w1", "w2"):
                found.append(item + " starts")
                stack.append((item, "finishes"))
            elif name == "blocked" and stack and stack[-1][1] == "finishes":
                found.append(stack[-1][0] + " sleeps")
                stack.append((stack[-1][0], "wakes"))
            else:
                stack.append(("", name))
        elif e.type == Event.TYPE_SLICE_END and stack:
            item, end = stack.pop()
            if item == "w0" or end == "finishes" and item:  # the document has no separate wake of the others
                found.append(f"{item} {end}")
        elif name.startswith("blocked, as the ") and stack and stack[-1][1] == "finishes" \
                and stack[-1][0] + " sleeps" not in found:
            found.append(stack[-1][0] + " sleeps")
    return found


def main():
    for attempt in range(1, timelines.ATTEMPTS + 1):
        wrong = []
        with tempfile.TemporaryDirectory() as folder:
            all_ = timelines.play(sys.argv[1], folder)
            for t in all_:
                seen = events_of(t["trace"])
                noted = set(t["what"])
                if t["announced"] and set(seen) != noted:
                    sys.exit(f"{t['name']}: the trace has {seen}, but the items note {sorted(noted)}")
                if not timelines.in_order(t, seen):
                    wrong.append(f"{t['name']}, announced {t['announced']}: {seen}")
        if not wrong:
            print(f"{len(all_)} timelines are as documented, in attempt {attempt}")
            return
        print("\n".join(wrong))
    sys.exit("no attempt has shown the documented order")


main()
