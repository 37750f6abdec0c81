#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Perfetto's own messages read the file of a tracer: slices, flows, counters and threads of known items.

  check_trace.py PROGRAM
"""

import collections
import sys

import program_output

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto
except ImportError:
    print("skipped: there is no perfetto, or no protobuf (PyPI)")
    sys.exit(77)

Event = perfetto.TrackEvent


def unknown_fields(message, path=""):
    """The numbers of fields that the messages of Perfetto do not have."""
    from google.protobuf.unknown_fields import UnknownFieldSet
    yield from (f"{path}.{f.field_number}" for f in UnknownFieldSet(message))
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            repeated = descriptor.is_repeated if hasattr(descriptor, "is_repeated") else descriptor.label == 3
            for m in value if repeated else [value]:
                yield from unknown_fields(m, f"{path}.{descriptor.name}")


def main():
    queues, _, file = program_output.run()
    findings = program_output.Findings()
    trace = perfetto.Trace.FromString(file)
    findings.equal("unknown fields", sorted(set(unknown_fields(trace))), [])
    tracks, names, categories = {}, {}, {}
    queued, runs, blocks = (collections.Counter() for _ in range(3))
    values, depths = {}, collections.Counter()
    flows_from, flows_to = [], []
    for packet in trace.packet:
        findings.equal("sequence", packet.trusted_packet_sequence_id, 1)
        names.update({n.iid: n.name for n in packet.interned_data.event_names})
        categories.update({c.iid: c.name for c in packet.interned_data.event_categories})
        if packet.HasField("track_descriptor"):
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
        if not packet.HasField("track_event"):
            continue
        e = packet.track_event
        if e.track_uuid not in tracks:
            findings.equal(f"the track of an event at {packet.timestamp}", e.track_uuid, "announced before")
            continue
        if e.type == Event.TYPE_COUNTER:
            values[tracks[e.track_uuid].name] = e.counter_value
            continue
        queue = categories[e.category_iids[0]] if e.category_iids else None
        flows_from += e.flow_ids
        flows_to += e.terminating_flow_ids
        if e.type == Event.TYPE_INSTANT and names[e.name_iid] == "queued":
            queued[queue] += 1
        elif e.type == Event.TYPE_SLICE_BEGIN:
            depths[e.track_uuid] += 1
            (blocks if names[e.name_iid] == "blocked" else runs)[queue] += 1
        elif e.type == Event.TYPE_SLICE_END:
            depths[e.track_uuid] -= 1
            findings.equal("slices that end and have not begun", min(depths[e.track_uuid], 0), 0)
    findings.equal("open slices", sum(depths.values()), 0)
    findings.equal("flows that begin twice", len(flows_from) - len(set(flows_from)), 0)
    findings.equal("flows that end elsewhere", sorted(flows_from), sorted(flows_to))
    for name, q in queues.items():
        findings.equal(f"{name}: calls", queued[name], q.items)
        findings.equal(f"{name}: runs", runs[name], q.items)
        findings.equal(f"{name}: blocks", blocks[name], q.blocks)
        for counter in ("pending", "running"):
            findings.equal(f"{name}: {counter} at the end", values[f"{name}: {counter}"], 0)
    threads = {t.thread.thread_name for t in tracks.values() if t.HasField("thread")}
    findings.equal("workers", any(t.startswith("cmwq/") for t in threads), True)
    findings.equal("clocks", {c.clock_id for p in trace.packet for c in p.clock_snapshot.clocks}, {1, 3})
    findings.end(f"{len(trace.packet)} packets are")


main()
