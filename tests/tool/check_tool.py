#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""The tool cmwq, on a live process whose queue "disk" is stuck: check_tool.py TOOL PROGRAM"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

TOOL, PROGRAM = sys.argv[1:3]
HERE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "cmwq"


class OnProcess(unittest.TestCase):
    def setUp(self):
        self.start()

    def start(self, *arguments):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([PROGRAM, self.folder.name, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        _, self.item, _, self.rescued = self.process.stdout.readline().split()
        self.pid = str(self.process.pid)

    def tearDown(self):
        if self.process.poll() is None:
            self.process.communicate("")
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()

    def run_tool(self, *arguments, expect=0):
        made = subprocess.run([TOOL, "--folder", self.folder.name, *arguments], capture_output=True, text=True, timeout=300)
        self.assertEqual(made.returncode, expect, made.stdout + made.stderr)
        return made.stderr if expect > 1 else made.stdout

    def rows(self, text):
        """The rows of a table by their first word, as a dictionary from titles to values."""
        lines = [line.split() for line in text.splitlines() if line]
        return {row[0]: dict(zip(lines[0], row)) for row in lines[1:]}

    def test_list(self):
        row, = self.rows(self.run_tool("--timeout", "300", "list")).items()
        self.assertEqual(row[0], self.pid + ".0")
        self.assertEqual(row[1]["EXPORTED"], "disk")
        self.assertEqual(row[1]["QUEUES"], "3")

    def test_monitor_has_the_counts_of_the_program(self):
        text = self.run_tool("monitor", self.pid, "--count", "1")
        rows = self.rows(text)
        self.assertEqual({k: rows["events"][k] for k in ("TOTAL", "INFL", "PENDING", "MAYDAY", "RESCUED")},
                         {"TOTAL": "1000", "INFL": "0", "PENDING": "0", "MAYDAY": "-", "RESCUED": "-"})
        self.assertEqual({k: rows["disk"][k] for k in ("TOTAL", "INFL", "PENDING", "RESCUED")},
                         {"TOTAL": "2", "INFL": "2", "PENDING": "2", "RESCUED": self.rescued})
        self.assertRegex(rows["disk"]["CMW/RPR"], r"^\d+/\d+$")
        self.assertEqual(list(self.rows(self.run_tool("monitor", self.pid, "d*k", "--count", "1"))), ["disk"])
        numbers = [json.loads(line) for line in self.run_tool("monitor", self.pid + ".0", "--json", "--count", "2",
                                                              "--interval", "0.01").splitlines()]
        self.assertEqual(len(numbers), 2)
        self.assertEqual({q["name"]: q["started"] for q in numbers[1]["queues"]}, {"events": 1000, "disk": 2, "interrupts": 0})
        said = self.process.communicate("")[0].split()
        self.assertEqual(said, ["events", "1000", "disk", "4"])

    def test_top_and_dump_name_what_is_stuck(self):
        text = self.run_tool("top", self.pid, "--count", "2", "--interval", "0.01")
        self.assertNotIn("\033", text)
        row = next(line for line in text.splitlines() if self.item in line)
        self.assertRegex(row, r"disk .*waits in futex.*waits for the end$")
        self.assertIn("items running 2", text)
        self.assertRegex(self.run_tool("dump", self.pid), r"waits in futex[^\n]*waits for the end|waits for the end")
        self.assertEqual(json.loads(self.run_tool("dump", self.pid, "--json"))["format"], 1)

    def test_a_bottom_half_that_runs(self):
        self.tearDown()
        self.start("bottom half")
        text = self.run_tool("top", self.pid, "--count", "1")
        self.assertIn("items running 3", text)
        self.assertRegex(text, r" interrupts ")
        self.assertIn('queue "disk"', self.run_tool("doctor", self.pid, "--seconds", "0.1", expect=1))

    def test_list_shows_who_does_not_answer(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            text = self.run_tool("--timeout", "0.01", "list")
        finally:
            self.process.send_signal(signal.SIGCONT)
        self.assertRegex(text, rf"{self.pid}\.0  \(does not answer\) ")

    def test_list_shows_who_is_busy(self):
        clients = [socket.socket(socket.AF_UNIX) for _ in range(16)]
        for c in clients:
            c.connect(f"{self.folder.name}/{self.pid}.0")
        for c in clients:  # then the process has accepted them
            c.sendall(b'{"do":"hello"}\n')
            self.assertTrue(c.recv(1000))
        self.assertIn(f"{self.pid}.0  (there are too many clients)", self.run_tool("--timeout", "300", "list"))
        for c in clients:
            c.close()

    def test_the_tool_does_not_obey_the_variable_of_the_program(self):
        made = subprocess.run([TOOL, "doctor"], env=os.environ | {"CMWQ": "bogus=1"}, capture_output=True, text=True,
                              timeout=300)
        self.assertIn(made.returncode, (0, 1), made.stderr)

    def test_set_says_what_it_had_set_before_a_refusal(self):
        said = self.run_tool("set", self.pid, "disk", "max_active=4", "max_active=9999", expect=4)
        self.assertIn("max_active=4 was set; max_active is 9999", said)
        self.assertIn("max_active=4\n", self.run_tool("get", self.pid, "disk"))

    def test_wrong_words(self):
        self.assertIn("UTF-8", self.run_tool("get", self.pid, b"\xff", expect=2))
        self.assertEqual(self.run_tool("get", self.pid, "watchdog"), "300ms\n")
        self.assertIn("'dance'", self.run_tool("dance", expect=2))
        self.assertIn("'no.pftrace' is neither", self.run_tool("trace", "no.pftrace", "--html", expect=2))
        self.assertIn("--html", self.run_tool("trace", __file__, expect=2))
        said = self.run_tool("monitor", self.pid, "d*k", "nosuch", "--count", "1", expect=4)
        self.assertRegex(said, r"'nosuch', but: .*disk")
        for interval in ("0", "-1", "nan", "1e300", "x"):
            self.assertIn(f"'{interval}' is no time", self.run_tool("top", self.pid, f"--interval={interval}", expect=2))

    def test_get_and_set(self):
        self.assertIn("max_active=2\n", self.run_tool("get", self.pid, "disk"))
        self.assertEqual(self.run_tool("get", self.pid, "disk", "max_active"), "2\n")
        self.assertIn("watchdog=300ms\nqueue=disk\n", self.run_tool("get", self.pid))
        made = self.run_tool("set", self.pid, "disk", "max_active=3", "affinity_scope=numa")
        self.assertIn("max_active=3\n", made)
        self.assertIn("affinity_scope=numa\n", made)
        self.assertIn("watchdog=10s\n", self.run_tool("set", self.pid, "watchdog=10s"))
        before = self.run_tool("get", self.pid, "disk")
        self.assertIn("1 to 2048", self.run_tool("set", self.pid, "disk", "max_active=0", expect=4))
        self.assertIn("'color'", self.run_tool("set", self.pid, "disk", "color=red", expect=4))
        self.assertIn("'events'", self.run_tool("set", self.pid, "events", "max_active=1", expect=4))
        self.assertIn("'color'", self.run_tool("get", self.pid, "disk", "color", expect=4))
        self.assertIn("ATTRIBUTE=VALUE", self.run_tool("set", self.pid, "disk", expect=2))
        self.assertIn("ATTRIBUTE=VALUE", self.run_tool("set", self.pid, "disk", "max_active", expect=2))
        self.assertEqual(self.run_tool("get", self.pid, "disk"), before)

    def test_stalls_and_doctor_find_it(self):
        self.assertIn('queue "disk" is at its limit', self.run_tool("stalls", self.pid, "--at-least", "100ms", expect=1))
        self.assertEqual(self.run_tool("stalls", self.pid, "--at-least", "100min"), "")
        self.assertIn("duration", self.run_tool("stalls", self.pid, "--at-least", "soon", expect=4))
        self.assertRegex(self.run_tool("doctor", self.pid, "--seconds", "0.1", expect=1),
                         r'degraded +queue "disk" \(elastic\) is at its limit, max_active 2, most of the time')

    def test_trace(self):
        file = pathlib.Path(self.folder.name) / "t.pftrace"
        self.assertIn(str(file), self.run_tool("trace", self.pid, "--seconds", "0.1", "-o", str(file)))
        self.assertGreater(file.stat().st_size, 0)
        self.assertIn("No such file", self.run_tool("trace", self.pid, "-o", "/no folder/t", expect=4))
        self.assertIn("/dev/full: No space left", self.run_tool("trace", self.pid, "--seconds", "0.1", "-o", "/dev/full",
                                                                expect=4))

    def data_of(self, page):
        text = page.read_text()
        data, = re.findall(r'<script type="application/json" id="data">([^<]*)</script>', text)
        self.assertIn("<canvas", text)
        self.assertNotRegex(text, r'(src|href)="|https?://')  # it needs no other file
        return json.loads(data)

    def test_page(self):
        folder = pathlib.Path(self.folder.name)
        page, file = folder / "t.html", folder / "t.pftrace"
        self.assertIn(str(page), self.run_tool("trace", self.pid, "--seconds", "0.1", "--html", "-o", str(page)))
        self.assertEqual([p.name for p in folder.glob("t.*")], ["t.html"])
        self.assertEqual(self.data_of(page)["program"], "cmwq_tool_program")
        # A file, by name; also one that was not written to its end.
        page.unlink()
        self.run_tool("trace", self.pid, "--seconds", "0.1", "-o", str(file))
        self.assertIn(str(page), self.run_tool("trace", str(file), "--html"))
        data = self.data_of(page)
        self.assertEqual((data["pid"], data["is_cut"]), (int(self.pid), False))
        with file.open("ab") as f:
            f.write(b"\x0a\x05part")
        self.run_tool("trace", str(file), "--html", "-o", str(folder / "cut.html"))
        self.assertEqual(self.data_of(folder / "cut.html")["is_cut"], True)

    def test_page_of_nonsense(self):
        file = pathlib.Path(self.folder.name) / "t.pftrace"
        for nonsense in (b"", b"no trace", b"\x0a\x02\xff\xff", b"\x0a\x80", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"):
            file.write_bytes(nonsense)
            self.assertIn(str(file), self.run_tool("trace", str(file), "--html", expect=4))
            self.assertFalse(file.with_suffix(".html").exists())
        self.assertIn("'" + str(file) + "'", self.run_tool("trace", str(file), expect=2))

    def test_metrics(self):
        self.assertTrue(self.run_tool("metrics", self.pid).endswith("# EOF\n"))

    def test_nobody(self):
        self.assertIn("no control socket", self.run_tool("dump", "1", expect=3))
        self.assertIn("'x'", self.run_tool("dump", "x", expect=2))
        self.assertIn("no control socket", self.run_tool("dump", self.pid + ".7", expect=3))
        self.process.kill()
        self.process.wait()
        self.assertIn("has ended", self.run_tool("dump", self.pid, expect=3))
        self.assertIn("no process", self.run_tool("list", expect=3))


class Completions(unittest.TestCase):
    """Of the shells that are installed, on a process whose queues are "disk" and "on one CPU"."""
    ANSWERS = {"hello": {"program": "p", "runtime": "r", "version": "1"},
               "queues": {"queues": [{"name": "disk"}, {"name": "on one CPU"}], "locked": []}}

    def answer(self, request):
        if request["do"] != "get":
            return self.ANSWERS[request["do"]]
        if "queue" in request:
            return {"attributes": {"max_active": "8", "nice": "0"}}
        return {"attributes": {"watchdog": "1s"}, "exported": ["disk", "on one CPU"]}

    def bash(self, *words):
        quoted = " ".join(shlex.quote(w) for w in words)
        script = (f'source {HERE}/completion/cmwq.bash; COMP_WORDS=(cmwq {quoted}); COMP_CWORD={len(words)}; _cmwq;'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return self.run_shell(["bash", "-c", script])

    def fish(self, *words):
        line = shlex.quote(" ".join(("cmwq", *words)))
        made = self.run_shell(["fish", "--no-config", "-c", f"source {HERE}/completion/cmwq.fish; complete -C {line}"])
        return [word.partition("\t")[0] for word in made]

    def zsh(self, *words):
        """With functions in the place of those that only the editor of zsh has; it would compare with the last word."""
        quoted = " ".join(shlex.quote(w) for w in words)
        script = ('compadd() { local end=; [[ $1 == -S ]] && end=$2; while [[ $1 != -- ]]; do shift; done; shift;'
                  'local w; for w; do print -r -- $w$end; done };'
                  '_describe() { print -rl -- ${${(P)2}%%:*} }; _files() { print -rl -- *(N) };'
                  f'complete() {{ local -a words=(cmwq {quoted}); local CURRENT=$#words; source {HERE}/completion/_cmwq }};'
                  'complete; true')
        return [word for word in self.run_shell(["zsh", "-f", "-c", script]) if word.startswith(words[-1])]

    def run_shell(self, command):
        with tempfile.TemporaryDirectory() as path:
            os.symlink(pathlib.Path(TOOL).resolve(), path + "/cmwq")
            with FakeServer(self.answer) as server:
                command[-1] = command[-1].replace("FOLDER", server.folder.name)
                env = os.environ | {"PATH": path + os.pathsep + os.environ["PATH"], "HOME": path}
                made = subprocess.run(command, env=env, cwd=server.folder.name, capture_output=True, text=True, timeout=300)
        self.assertEqual((made.returncode, made.stderr), (0, ""))
        return [line for line in made.stdout.splitlines() if line]

    def check(self, complete, quoted):
        pid = str(os.getpid())
        process, queues = pid + ".0", ["disk", quoted]
        to = ("--timeout", "300", "--folder", "FOLDER")
        self.assertEqual(complete("mon"), ["monitor"])
        self.assertEqual(complete("monitor", "--i"), ["--interval"])
        self.assertEqual(complete(*to, "dump", ""), [process])
        self.assertEqual(complete(*to, "dump", "--json", ""), [process])
        self.assertEqual(complete(*to, "monitor", pid, ""), queues)
        self.assertCountEqual(complete(*to, "get", pid, ""), [*queues, "watchdog"])
        self.assertCountEqual(complete(*to, "set", pid, ""), [*queues, "watchdog="])
        self.assertCountEqual(complete(*to, "get", pid, "disk", ""), ["max_active", "nice"])
        self.assertCountEqual(complete(*to, "set", pid, "on\\ one\\ CPU", ""), ["max_active=", "nice="])
        self.assertCountEqual(complete(*to, "set", pid, "disk", "m"), ["max_active="])
        self.assertEqual(complete("trace", "-o", pid), [process])  # the socket, as a file
        self.assertEqual(complete("trace", pid, "--output", pid), [process])
        self.assertIn(process, complete(*to, "trace", pid))

    @unittest.skipUnless(shutil.which("bash"), "there is no bash")
    def test_bash(self):
        self.check(self.bash, r"on\ one\ CPU")

    @unittest.skipUnless(shutil.which("fish"), "there is no fish")
    def test_fish(self):
        self.check(self.fish, "on one CPU")

    @unittest.skipUnless(shutil.which("zsh"), "there is no zsh")
    def test_zsh(self):
        self.check(self.zsh, "on one CPU")


class FakeServer:
    """Answers from `answers` by the member "do" of a request, one connection after the other, and counts those. A process
    closes a connection that rests for a minute, so the tool must not keep one while it pauses."""

    def __init__(self, answers):
        self.answers = answers
        self.folder = tempfile.TemporaryDirectory()
        self.nr_connections = 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.folder.name}/{os.getpid()}.0")
        self.listener.listen(16)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection, connection.makefile("rw") as lines:
                for n, line in enumerate(lines):
                    request = json.loads(line)
                    if request["do"] == "end":
                        return
                    self.nr_connections += n == 0
                    lines.write(json.dumps(self.answers(request)) + "\n")
                    lines.flush()

    def run_tool(self, *arguments):
        return subprocess.run([TOOL, "--folder", self.folder.name, *arguments], capture_output=True, text=True, timeout=300)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(self.listener.getsockname())
            last.sendall(b'{"do":"end"}\n')
            self.thread.join()
        self.listener.close()
        self.folder.cleanup()


class OnFakeServer(unittest.TestCase):
    DUMP = {"pools": [], "queues": [], "scopes": None}

    def answer(self, request):
        return {"queues": {"queues": [], "locked": []}, "hello": {"program": "p"}, "dump": {"dump": self.DUMP},
                "stalls": {"text": ""}, "trace": {"tracing": False}}[request["do"]]

    def test_no_connection_rests_while_the_tool_pauses(self):
        pid = str(os.getpid())
        for arguments, nr in ((("monitor", pid, "--interval", "0.01", "--count", "3"), 3),
                              (("top", pid, "--interval", "0.01", "--count", "3"), 3),
                              (("doctor", pid, "--seconds", "0.01"), 2),
                              (("trace", pid, "--seconds", "0.01", "-o", "/tmp/none"), 2)):
            with FakeServer(self.answer) as server:
                made = server.run_tool(*arguments)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.assertEqual(server.nr_connections, nr, arguments)


    def test_control_characters_are_shown(self):
        name = "a\nb\x1b[31m\x7f\x9bü"
        shown = r"a\x0ab\x1b[31m\x7f\x9bü"
        answers = {"hello": {"program": name, "runtime": name, "version": "1"},
                   "get": {"attributes": {name: name}, "exported": [name]},
                   "queues": {"queues": [], "locked": []}, "dump": {"text": name + "\n"}, "stalls": {"text": name}}
        with FakeServer(lambda request: answers[request["do"]]) as server:
            pid = str(os.getpid())
            for arguments in (["--timeout", "300", "list"], ["get", pid], ["stalls", pid], ["dump", pid]):
                said = server.run_tool(*arguments).stdout
                self.assertIn(shown if arguments[0] not in ("stalls", "dump") else shown.replace(r"\x0a", "\n"), said)
                self.assertNotRegex(said, "[\x1b\x7f\x9b]")

    def test_what_is_locked_is_named(self):
        pool = {"pool": 3, "kind": "elastic", "locked": True}
        answers = {"hello": {"program": "p", "runtime": "r", "version": "1"}, "get": {"exported": []},
                   "queues": {"queues": [], "locked": ["disk", "net"]}, "stalls": {"text": ""},
                   "dump": {"dump": self.DUMP | {"pools": [pool]}}}
        pid = str(os.getpid())
        with FakeServer(lambda request: answers[request["do"]]) as server:
            said = server.run_tool("monitor", pid, "--count", "1").stdout
            self.assertIn("another thread keeps a lock of: disk, net\n", said)
            said = server.run_tool("monitor", pid, "d*", "--count", "1").stdout
            self.assertIn("another thread keeps a lock of: disk\n", said)
            said = server.run_tool("monitor", pid, "d*", "--count", "1", "--json").stdout
            self.assertEqual(json.loads(said)["locked"], ["disk"])
            self.assertIn("but: disk, net", server.run_tool("monitor", pid, "x", "--count", "1").stderr)
            self.assertRegex(server.run_tool("--timeout", "300", "list").stdout, r" p +r +2 ")
            said = server.run_tool("top", pid, "--count", "1").stdout
            self.assertIn("missing, because another thread keeps the lock: pool 3\n", said)
            made = server.run_tool("doctor", pid, "--seconds", "0.01")
            self.assertEqual(made.returncode, 1)
            self.assertRegex(made.stdout, r'a lock of queue "disk".*\n.*\n.*a lock of queue "net"')
            answers["queues"]["locked"] = None
            self.assertIn("a lock of the list of queues", server.run_tool("doctor", pid, "--seconds", "0.01").stdout)
            said = server.run_tool("monitor", pid, "x", "--count", "1").stdout
            self.assertIn("the lock of the list of queues", said)
            said = server.run_tool("monitor", pid, "x", "--count", "1", "--json").stdout
            self.assertIsNone(json.loads(said)["locked"])
            self.assertRegex(server.run_tool("--timeout", "300", "list").stdout, r" p +r +\? ")

    def test_doctor_compares_no_queue_that_was_locked_before(self):
        disk = {"name": "disk", "policy": "unbound", "max_active": 1, "inactive": 7, "saturated_ns": 10**12,
                "blocks_by_sentinel": 10**9, "blocks_by_monitor": 0, "cpu_hogs": 0, "rescued": 0}
        net = disk | {"name": "net"}
        answers = iter([{"queues": [], "locked": ["disk"]}, {"queues": [disk, net], "locked": []},
                        {"queues": [], "locked": None}, {"queues": [disk, net], "locked": []}])

        def answer(request):
            return next(answers) if request["do"] == "queues" else self.answer(request)

        with FakeServer(answer) as server:
            made = server.run_tool("doctor", str(os.getpid()), "--seconds", "0.01")
            self.assertIn('queue "net" (unbound) is at its limit', made.stdout) # a new one, which has begun at 0
            self.assertNotIn("disk", made.stdout)
            made = server.run_tool("doctor", str(os.getpid()), "--seconds", "0.01")
            self.assertEqual(made.returncode, 0, made.stdout)
            self.assertIn("nothing that is known to be wrong", made.stdout)

    def test_an_answer_that_lacks_something(self):
        with FakeServer(lambda request: {}) as server:
            made = server.run_tool("monitor", str(os.getpid()), "--count", "1")
            self.assertEqual(made.returncode, 4)
            self.assertRegex(made.stderr, r"lacks something \(key 'locked' not found\): .* of one version\?")


class Alone(unittest.TestCase):
    def help_of(self, *command):
        return subprocess.run([TOOL, *command, "--help"], capture_output=True, text=True, check=True).stdout

    def test_doctor_of_the_machine(self):
        made = subprocess.run([TOOL, "doctor"], capture_output=True, text=True, timeout=300)
        self.assertIn(made.returncode, (0, 1), made.stderr)
        self.assertRegex(made.stdout, r"^ok +\d+ CPUs .* hwloc sees \d+ cpu \d+ smt \d+ cache ")
        self.assertRegex(made.stdout, r"(permitted|refused): SCHED_IDLE")

    def test_an_installation_without_the_tool_says_so(self):
        script = (pathlib.Path(TOOL).parent / "cmake_install.cmake").read_text()
        if "cmwq.1" not in script:
            self.skipTest("this tree is not installed")
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "install.cmake")
            copy.write_text(script.replace(str(pathlib.Path(TOOL).absolute()), folder + "/not_built"))
            made = subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={folder}/to", "-P", copy], capture_output=True, text=True,
                                  check=True)
        self.assertIn("The tool cmwq is not installed", made.stdout + made.stderr)

    def test_wrong_arguments(self):
        for wrong in ([], ["dance"], ["dump"], ["monitor", "1", "--interval", "0"]):
            made = subprocess.run([TOOL, *wrong], capture_output=True, text=True)
            self.assertEqual(made.returncode, 2, wrong)

    def test_manual_and_completions_have_every_command_and_option(self):
        commands = re.findall(r"^  (\w+) ", self.help_of().partition("Subcommands:")[2], re.M)
        self.assertGreater(len(commands), 8)
        manual = (HERE / "cmwq.1").read_text().replace("\\-", "-")
        shells = [(HERE / "completion" / name).read_text() for name in ("cmwq.bash", "_cmwq", "cmwq.fish")]
        for c in commands:
            options = re.findall(r"(--[a-z-]+) ", self.help_of(c).partition("Options:")[2])
            for o in {"", *options} - {"--help"}:
                self.assertIn(f"cmwq {c}", manual)
                self.assertIn(o, manual, c)
                for text in shells:
                    self.assertIn(c, text)
                    self.assertIn(o.removeprefix("--"), text, c)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
