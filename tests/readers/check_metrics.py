#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""prometheus_client reads runtime::metrics(): the series are those of docs/guide/metrics.md, with the right values.

  check_metrics.py PROGRAM
"""

import pathlib
import re
import sys

import program_output

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("skipped: there is no prometheus_client (PyPI)")
    sys.exit(77)

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guide" / "metrics.md"
RUNTIME = 'readers "1"\\'


def documented():
    """The names of the series in the table of the guide."""
    rows = [line.split("|")[2] for line in GUIDE.read_text().splitlines() if line.startswith("|")]
    return {m for row in rows for m in re.findall(r"`(cmwq_\w+)", row)}


def main():
    queues, text, _ = program_output.run()
    findings = program_output.Findings()
    families = list(text_string_to_metric_families(text))
    findings.equal("the series of the guide", {f.name + ("_total" if f.type == "counter" else "") for f in families},
                   documented())
    samples = {}
    for f in families:
        for s in f.samples:
            samples[s.name, s.labels.get("queue"), s.labels.get("le"), s.labels.get("detector")] = s
            findings.equal(f"the runtime of {s.name}", s.labels["runtime"] if "queue" in s.labels else RUNTIME, RUNTIME)
    for name, q in queues.items():
        def value(series, le=None, detector=None):
            return samples[series, name, le, detector].value

        findings.equal(f"{name}: policy", samples["cmwq_pending", name, None, None].labels["policy"], q.policy)
        for series in ("queued", "started", "completed"):
            findings.equal(f"{name}: {series}", value(f"cmwq_items_{series}_total"), q.items)
        for series in ("cmwq_pending", "cmwq_active", "cmwq_inactive", "cmwq_items_cancelled_total"):
            findings.equal(f"{name}: {series}", value(series), 0)
        for series in ("cmwq_run_seconds", "cmwq_wait_seconds"):  # all are measured while a tracer is attached
            findings.equal(f"{name}: {series}_count", value(f"{series}_count"), q.items)
            findings.equal(f"{name}: {series}, +Inf", value(f"{series}_bucket", "+Inf"), q.items)
    findings.end(f"{len(samples)} samples of {len(families)} series are")


main()
