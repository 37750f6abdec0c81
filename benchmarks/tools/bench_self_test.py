#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the runner of the suite, with programs that are planted for the test."""

import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import bench
import charts
import comparison
import machine
import measurement
import micro_programs
import report
import results

MACHINE = {"machine": "0123", "cpu": "some CPU", "cpus": 2, "threads_per_core": 1, "memory_gib": 8, "cpu_quota": "max",
           "virtual": False, "governor": "unknown", "kernel": "6.1", "system": "some system"}


def row(contender, value, workload="fib", case="calls", metric="ns_per_item"):
    return {"workload": workload, "case": case, "contender": contender, "metrics": {metric: value}}


def run_of(rows, **changes):
    return {"machine": dict(MACHINE), "size": "quick", "repetitions": 3, "commit": "abc", "compiler": "g++",
            "flags": "-O2", "date": "2026-01-01", "load_before": 0, "versions": {"Boost": "1_74"},
            "results": results.summarise(rows), **changes}


class Summary(unittest.TestCase):
    def test_median_and_spread(self):
        record, = results.summarise([row("cmwq elastic", value) for value in (30, 10, 20)])
        figures = record["metrics"]["ns_per_item"]
        self.assertEqual(figures, {"samples": [30, 10, 20], "median": 20, "min": 10, "max": 30})

    def test_relative_cost_to_elastic(self):
        records = results.summarise([row("cmwq bound", 5), row("cmwq elastic", 10), row("oneTBB", 20)])
        self.assertEqual([r["relative_cost"] for r in records], [0.5, 1, 2])

    def test_relative_cost_is_inverted_if_more_is_better(self):
        records = results.summarise([row("cmwq elastic", 100, metric="items_per_second"),
                                     row("oneTBB", 50, metric="items_per_second")])
        self.assertEqual(records[1]["relative_cost"], 2)

    def test_first_of_ours_is_the_reference_without_elastic(self):
        records = results.summarise([row("other", 3), row("cmwq ordered", 6), row("cmwq ordered, intrusive", 2)])
        self.assertEqual([r["relative_cost"] for r in records], [0.5, 1, 2 / 6])

    def test_contender_that_did_not_end(self):
        records = results.summarise([row("cmwq elastic", 1, metric="ms"), row("Boost.Asio", None, metric="ms")])
        self.assertIsNone(records[1]["relative_cost"])
        self.assertIn("| Boost.Asio | – | – – – | – |", report.markdown(run_of([
            row("cmwq elastic", 1, metric="ms"), row("Boost.Asio", None, metric="ms")])))

    def test_unknown_metric(self):
        with self.assertRaises(ValueError):
            results.summarise([row("cmwq elastic", 1, metric="bogomips")])

    def test_best_of_each(self):
        case = results.summarise([row("cmwq elastic", 9), row("cmwq bound", 6), row("oneTBB", 3), row("one thread", 1),
                                  row("Boost.Asio", None)])
        ours, others, cost = results.best_of_each(case)
        self.assertEqual((ours["contender"], others["contender"], cost), ("cmwq bound", "oneTBB", 2))
        case = results.summarise([row("cmwq elastic", 9, metric="items_per_second"),
                                  row("oneTBB", 3, metric="items_per_second")])
        self.assertAlmostEqual(results.best_of_each(case)[2], 1 / 3)
        self.assertIsNone(results.best_of_each(results.summarise([row("cmwq elastic", 1), row("direct call", 1)])))

    def test_best_pool_of_a_fixed_size(self):
        rows = [{**row(contender, 0, "blockmix", "50 %"),
                 "metrics": {"items_per_second": rate, "peak_threads": threads}}
                for contender, rate, threads in (("cmwq elastic", 90, 20), ("cmwq bound", 95, 20),
                                                 ("Boost.Asio, 2 threads", 10, 2), ("Boost.Asio, 8 threads", 100, 8))]
        (case, elastic, best), = results.against_hand_sized(results.summarise(rows))
        self.assertEqual((case, elastic["contender"], best["contender"]),
                         ("50 %", "cmwq elastic", "Boost.Asio, 8 threads"))
        self.assertIn("| 50 % | 90.0 | 100 | Boost.Asio, 8 threads | 90.0 | 20.0 | 2.50 |",
                      report.markdown(run_of(rows)))


class Comparison(unittest.TestCase):
    old = [row("cmwq elastic", value) for value in (10, 11, 12)]
    new = [row("cmwq elastic", value) for value in (20, 22, 24)]

    def test_same_machine(self):
        text = comparison.compare(run_of(self.old), run_of(self.new))
        self.assertIn("| fib, calls | cmwq elastic | ns per item | 11.0 | 22.0 | 2.00 | worse |", text)

    def test_changes_within_the_spread_are_not_marked(self):
        text = comparison.compare(run_of(self.old), run_of([row("cmwq elastic", 12)]))
        self.assertIn("| 1.09 |  |", text)

    def test_less_is_not_always_better(self):
        rows = [[row("cmwq elastic", value, metric="items_per_second")] for value in (100, 50)]
        self.assertIn("| 0.50 | worse |", comparison.compare(run_of(rows[0]), run_of(rows[1])))

    def test_different_machines_are_refused(self):
        for key in machine.IDENTITY:
            with self.assertRaisesRegex(comparison.NotComparable, f"different machines:\n  {key}: "):
                comparison.compare(run_of(self.old), run_of(self.new, machine={**MACHINE, key: "another"}))

    def test_different_sizes_are_refused(self):
        with self.assertRaises(comparison.NotComparable):
            comparison.compare(run_of(self.old), run_of(self.new, size="full"))

    def test_command_ends_with_1_for_different_machines(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, name) for name in ("old.json", "new.json")]
            paths[0].write_text(json.dumps(run_of(self.old)))
            paths[1].write_text(json.dumps(run_of(self.new, machine={**MACHINE, "cpus": 64})))
            code, _, errors = run_main("compare", *paths)
        self.assertEqual(code, 1)
        self.assertIn("different machines", errors)


def run_main(*args):
    """Returns the exit status of bench.py, its output, and its errors."""
    out, err = io.StringIO(), io.StringIO()
    with mock.patch.object(sys, "argv", ["bench.py", *map(str, args)]), contextlib.redirect_stdout(out), \
            contextlib.redirect_stderr(err):
        code = bench.main()
    return code, out.getvalue(), err.getvalue()


SUITE = """#!/bin/sh
case $1 in
--list) echo '{"versions": {"Boost": "1_74"}, "workloads": {"fib": ["cmwq elastic", "oneTBB"]}}' ;;
*) %s echo '{"workload": "fib", "contender": "'"$3"'", "case": "calls", "ns_per_item": 7}' ;;
esac
"""


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_suite(self, instead=""):
        program = self.folder / "build" / "benchmarks" / "suite" / "suite"
        program.parent.mkdir(parents=True)
        program.write_text(SUITE % instead)
        program.chmod(0o755)
        return run_main("run", "--size", "quick", "--repetitions", 3, "--only", "fib", "--build", self.folder / "build",
                        "--out", self.folder / "out")

    def test_results_are_written(self):
        code, _, errors = self.run_suite()
        self.assertEqual(code, 0, errors)
        run = json.loads((self.folder / "out" / "results.json").read_text())
        self.assertEqual([r["metrics"]["ns_per_item"]["samples"] for r in run["results"]], [[7, 7, 7], [7, 7, 7]])
        self.assertEqual(run["machine"], machine.describe())
        self.assertIn("| oneTBB | 7.00 | 7.00 – 7.00 | 1.00 |", (self.folder / "out" / "results.md").read_text())
        self.assertIn("</svg>", (self.folder / "out" / "fib.svg").read_text())

    def test_wrong_result_fails_the_run(self):
        code, _, errors = self.run_suite("echo 'suite: wrong result' >&2; exit 1;")
        self.assertEqual(code, 1)
        self.assertIn("suite: wrong result", errors)
        self.assertFalse((self.folder / "out").exists())

    def test_program_that_reports_nothing_fails_the_run(self):
        code, _, errors = self.run_suite("exit 0;")
        self.assertEqual(code, 1)
        self.assertIn("has reported nothing", errors)

    def test_program_that_does_not_end_fails_the_run(self):
        with mock.patch.object(measurement, "TIMEOUT", 0.1):
            code, _, errors = self.run_suite("exec sleep 10;")
        self.assertEqual(code, 1)
        self.assertIn("has not ended", errors)

    def test_missing_program(self):
        code, _, errors = run_main("run", "--build", self.folder, "--out", self.folder / "out")
        self.assertEqual(code, 1)
        self.assertIn("suite: No such file or directory", errors)

    def test_contenders_take_turns_and_every_second_repetition_runs_backwards(self):
        order = []
        planted = [mock.Mock(workload="w", run=lambda name=name: order.append(name) or [row(name, 1)])
                   for name in "ab"]
        bench.collect(planted, 3, lambda line: None)
        self.assertEqual(order, ["a", "b", "b", "a", "a", "b"])


class MicroPrograms(unittest.TestCase):
    @staticmethod
    def output(name, **fields):
        return json.dumps({"benchmarks": [{"name": name, "real_time": 3, "cpu_time": 2, "time_unit": "us", **fields}]})

    def test_real_time_only_where_the_benchmark_asks_for_it(self):
        rows = micro_programs.rows("queues", self.output("make_and_destroy<cmwq::bound>/real_time"))
        self.assertEqual(rows, [row("cmwq bound", 3000, "queues", "made and destroyed", "call_ns")])
        rows = micro_programs.rows("operations", self.output("cancel_idle"))
        self.assertEqual(rows, [row("cmwq bound", 2000, "operations", "cancel idle", "call_ns")])

    def test_errors_and_unknown_names_fail_the_run(self):
        for name, fields in (("direct_call", {"error_occurred": True, "error_message": "wrong"}), ("other", {})):
            with self.assertRaises(measurement.ProgramFailed):
                micro_programs.rows("bh", self.output(name, **fields))


class Plots(unittest.TestCase):
    def test_long_bars_are_cut(self):
        document = charts.draw("title", [charts.Group("<group>", [charts.Bar("a", 1, "1", True),
                                                                  charts.Bar("b", 100, "100", False)], end=10)])
        self.assertIn(f'width="{charts.WIDTH // 10}"', document)
        self.assertIn(f'width="{charts.WIDTH}"', document)
        self.assertIn("… 100", document)
        self.assertIn("&lt;group&gt;", document)

    def test_workload_without_comparison_has_one_table_and_no_plot(self):
        run = run_of([row("cmwq bound", 1, "operations", case, "call_ns") for case in ("cancel idle", "modify armed")])
        self.assertEqual(report.plots(run), {})
        self.assertIn("| cancel idle | 1.00 | 1.00 – 1.00 |\n| modify armed |", report.markdown(run))

    def test_best_first(self):
        documents = report.plots(run_of([row("cmwq elastic", 9), row("oneTBB", 3)]))
        self.assertLess(documents["fib"].index("oneTBB"), documents["fib"].index("cmwq elastic"))


if __name__ == "__main__":
    unittest.main()
