# SPDX-License-Identifier: BSL-1.0
"""Runs a program of the suite once."""

import dataclasses
import json
import pathlib
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable

TIMEOUT = 120  # seconds


class ProgramFailed(Exception):
    """A program could not be run, has found a wrong result, or has reported nothing."""


@dataclasses.dataclass
class Measurement:
    """One contender of a workload. `command(file)` may write to the file; `rows(output, file)` reads the results."""
    workload: str
    contender: str
    command: Callable
    rows: Callable

    def run(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "out.json")
            output = checked_output(self.command(file))
            rows = self.rows(output, file)
        if not rows:
            raise ProgramFailed(f"{self.workload}, {self.contender}: the program has reported nothing")
        return rows


def checked_output(command, timeout=None):
    """Returns what the command has printed. `timeout`: seconds, instead of TIMEOUT."""
    timeout = timeout or TIMEOUT
    command = [str(word) for word in command]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout,
                              check=False)
    except subprocess.TimeoutExpired:
        raise ProgramFailed(f"{shlex.join(command)}: has not ended within {timeout} s") from None
    except OSError as error:
        raise ProgramFailed(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        end = (done.stdout + done.stderr)[-2000:]
        how = signal.Signals(-done.returncode).name if done.returncode < 0 else done.returncode
        raise ProgramFailed(f"{shlex.join(command)}: ended with {how}\n{end}")
    return done.stdout


def row(workload, case, contender, metrics):
    return {"workload": workload, "case": case, "contender": contender, "metrics": metrics}
