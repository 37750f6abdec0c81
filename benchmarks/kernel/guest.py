# SPDX-License-Identifier: BSL-1.0
"""Runs a program in the virtual machine of scripts/test-vm."""

import subprocess

from measurement import ProgramFailed

TIMEOUT = 1500  # seconds


def output_of(root, command):
    """Returns the lines that the program has printed, between those of the machine."""
    done = subprocess.run([str(root / "scripts" / "test-vm"), "-v", "--", *command], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False, errors="replace")
    if done.returncode != 0:
        raise ProgramFailed(f"{' '.join(command)}, in the guest: ended with {done.returncode}\n"
                            f"{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout.replace("\r", "").splitlines()
