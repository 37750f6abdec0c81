#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Checks the runner of the experiments, and that docs/dev/experiments.md is what the results make."""

import argparse
import contextlib
import io
import json
import pathlib
import shutil
import tempfile
import types
import unittest
from unittest import mock

import experiments
from experiment import Measurement, change, histogram, median, select, with_range


class Figures(unittest.TestCase):
    ROWS = [{"place": "here", "limit": 8, "us": 3, "histogram": [1, 0]},
            {"place": "here", "limit": 8, "us": 1, "histogram": [2, 5]},
            {"place": "here", "limit": 8, "us": 2, "histogram": [0, 0]},
            {"place": "guest", "limit": 8, "us": 9, "histogram": [0, 0]}]

    def test_the_guest_is_left_out_unless_asked_for(self):
        self.assertEqual(len(select(self.ROWS, limit=8)), 3)
        self.assertEqual(median(select(self.ROWS, place="guest"), "us"), 9)
        self.assertEqual(select(self.ROWS, limit=16), [])

    def test_median_range_and_histogram(self):
        rows = select(self.ROWS)
        self.assertEqual(median(rows, "us"), 2)
        self.assertIsNone(median(rows, "unknown"))
        self.assertEqual(with_range(rows, "us"), "2 (1 – 3)")
        self.assertEqual(with_range([], "us"), "–")
        self.assertEqual(histogram(rows), [3, 5])
        self.assertEqual(change(200, 50), "-75 %")


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.args = argparse.Namespace(size="quick", state=pathlib.Path(folder.name), build=pathlib.Path("build"),
                                       again=False, circumstances={"size": "quick", "load_before": 0})
        self.experiment = types.SimpleNamespace(measurements=lambda size: [
            Measurement(["program", "--size", size], 2), Measurement(["program", "--other"])])

    def run_with(self, ran, program="abc"):
        """Runs the experiment with a program that works so often, and returns the rows and the commands."""
        commands = []

        def run_one(measurement, _folder):
            commands.append(str(measurement))
            if len(commands) > ran:
                raise experiments.ProgramFailed("cut")
            return [{"n": len(commands)}]

        run = {"date": f"run {len(list(self.args.state.iterdir()))}", "load_before": 0}
        with (mock.patch.object(experiments, "run_one", run_one),
              mock.patch.object(experiments, "key_of", lambda *_: program),
              mock.patch.object(experiments.machine, "describe", lambda: {"cpus": 2}),
              mock.patch.object(experiments.machine, "describe_run", lambda *_: run),
              contextlib.redirect_stdout(io.StringIO())):
            try:
                self.facts, rows = experiments.run_all("planted", self.experiment, self.args)
            except experiments.ProgramFailed:
                rows = None
        return rows, commands

    def test_interleaved_and_repeated(self):
        rows, commands = self.run_with(3)
        self.assertEqual(commands, ["program --size quick", "program --other", "program --size quick"])
        self.assertEqual([(row["n"], row["repetition"]) for row in rows], [(1, 0), (2, 0), (3, 1)])

    def test_goes_on_where_it_was_cut(self):
        self.assertIsNone(self.run_with(1)[0])
        rows, commands = self.run_with(2)
        self.assertEqual(commands, ["program --other", "program --size quick"])
        self.assertEqual([(row["n"], row["repetition"]) for row in rows], [(1, 0), (1, 0), (2, 1)])
        self.assertEqual(self.run_with(0), (rows, []))
        self.assertEqual(self.facts["run"]["date"], "run 0")  # the facts are those of the first run

    def test_another_program_or_again_starts_anew(self):
        self.run_with(3)
        self.assertEqual(len(self.run_with(3, program="def")[1]), 3)
        self.args.again = True
        self.assertEqual(len(self.run_with(3, program="def")[1]), 3)

    def test_a_program_that_has_changed_makes_another_key(self):
        program = self.args.state / "program"
        facts = {"machine": {}, "run": {"compiler": "g++", "flags": "-O2"}}
        keys = []
        for content in ("one", "two", "two"):
            program.write_text(content, encoding="utf-8")
            keys.append(experiments.key_of(facts, [Measurement([str(program)])], self.args.build))
        self.assertNotEqual(keys[0], keys[1])
        self.assertEqual(keys[1], keys[2])

    def test_a_line_cut_in_the_middle_of_a_write_is_run_again(self):
        self.run_with(3)
        file = self.args.state / "planted.jsonl"
        file.write_text(file.read_text(encoding="utf-8")[:-20], encoding="utf-8")
        self.assertEqual(len(self.run_with(3)[1]), 1)

    def test_a_damaged_journal_is_an_error_that_says_what_helps(self):
        self.run_with(3)
        file = self.args.state / "planted.jsonl"
        file.write_text("{\n" + file.read_text(encoding="utf-8"), encoding="utf-8")
        with self.assertRaisesRegex(experiments.journal.Damaged, "--again"):
            self.run_with(3)

    def test_a_program_that_prints_nothing_is_an_error(self):
        with mock.patch.object(experiments, "checked_output", lambda command: "no JSON\n"):
            with self.assertRaisesRegex(experiments.ProgramFailed, "reported nothing"):
                experiments.run_one(Measurement(["program"]), pathlib.Path("folder"))

    def test_a_program_with_a_path_is_one_from_the_top(self):
        with mock.patch.object(experiments, "checked_output", lambda command: json.dumps({"is": command[0]}) + ",\n"):
            rows = experiments.run_one(Measurement(["build/program"]), pathlib.Path("folder"))
        self.assertEqual(rows[0]["is"], str(experiments.ROOT / "build" / "program"))

    def test_rows_say_where_they_were_measured(self):
        with mock.patch.object(experiments, "checked_output", lambda command: '{"us": 1}\nnoise\n'):
            rows = experiments.run_one(Measurement(["program"], labels={"special": 1}), pathlib.Path("folder"))
        self.assertEqual(rows, [{"us": 1, "place": "here", "special": 1}])


class Page(unittest.TestCase):
    def test_conclusions_are_those_of_the_runs_for_which_they_were_written(self):
        experiment = types.SimpleNamespace(FINDINGS_OF="2026-01-02", findings=lambda rows: ["because"])
        for date, size, said in (("2026-01-02 10:00 UTC", "full", "because"), ("2026-01-03 10:00 UTC", "full", "Nobody has"),
                                 ("2026-01-02 10:00 UTC", "quick", "too short")):
            text = experiments.findings(experiment, {"run": {"date": date, "size": size}, "rows": []})
            self.assertIn(said, text[0])

    def test_it_is_what_the_results_make(self):
        docs = experiments.ROOT / "docs" / "dev"
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "experiments")
            out.mkdir()
            for file in (docs / "experiments").glob("*.json"):
                shutil.copy(file, out)
            experiments.write_page(out, out.parent / "experiments.md")
            made = {file.relative_to(folder): file.read_bytes() for file in pathlib.Path(folder).rglob("*.*")}
        there = {file.relative_to(docs): file.read_bytes()
                 for file in [docs / "experiments.md", *(docs / "experiments").iterdir()]}
        self.assertEqual(sorted(made), sorted(there))
        for name, content in made.items():
            self.assertEqual(content, there[name], f"docs/dev/{name} differs: ./scripts/experiments writes it")


if __name__ == "__main__":
    unittest.main()
