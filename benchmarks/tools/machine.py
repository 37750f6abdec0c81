# SPDX-License-Identifier: BSL-1.0
"""The machine, compiler and commit of a run."""

import datetime
import hashlib
import os
import pathlib
import platform
import re
import subprocess

# Results are comparable only if all of these are equal.
IDENTITY = ("machine", "cpu", "cpus", "threads_per_core", "memory_gib", "cpu_quota")


def _first_match(pattern, text, otherwise="unknown"):
    found = re.search(pattern, text, re.MULTILINE)
    return found[1].strip() if found else otherwise


def _read(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _machine_digest():
    """A digest, because the number itself is private."""
    number = _read("/etc/machine-id").strip()
    return hashlib.sha256(f"cmwq benchmarks {number}".encode()).hexdigest()[:16] if number else "unknown"


def describe():
    """Returns the facts about this machine."""
    siblings = _read("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    memory_kib = int(_first_match(r"^MemTotal:\s*(\d+)", _read("/proc/meminfo"), "0"))
    quota = _read("/sys/fs/cgroup/cpu.max").split()
    return {
        "machine": _machine_digest(),
        "cpu": _first_match(r"^model name\s*:\s*(.*)$", _read("/proc/cpuinfo"), platform.machine()),
        "cpus": len(os.sched_getaffinity(0)),
        "threads_per_core": len(re.split("[,-]", siblings.strip())) if siblings else 1,
        "memory_gib": round(memory_kib / 2**20),
        "cpu_quota": quota[0] if quota else "max",
        "virtual": "hypervisor" in _first_match(r"^flags\s*:(.*)$", _read("/proc/cpuinfo"), ""),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip() or "unknown",
        "kernel": platform.release(),
        "system": _first_match(r'^PRETTY_NAME="?([^"\n]*)', _read("/etc/os-release"), platform.system()),
    }


def differences(one, other):
    """Returns a sentence for each fact by which two machines are different ones."""
    return [f"{key}: {one.get(key)!r} and {other.get(key)!r}" for key in IDENTITY if one.get(key) != other.get(key)]


def describe_run(root, build):
    """Returns what a reader of results has to know besides the machine."""
    def output(*command):
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=root).stdout.strip()

    cache = _read(build / "CMakeCache.txt")
    compiler = _first_match(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", cache, "c++")
    kind = _first_match(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", cache, "")
    flags = _first_match(r"^CMAKE_CXX_FLAGS:\w+=(.*)$", cache, "")
    flags += " " + _first_match(rf"^CMAKE_CXX_FLAGS_{kind.upper()}:\w+=(.*)$", cache, "")
    # Without the results themselves, which a run writes one after the other.
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs") != ""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": (output("git", "rev-parse", "HEAD") or "unknown") + (", with changes" if changed else ""),
        "compiler": output(compiler, "--version").partition("\n")[0],
        "flags": flags.strip(),
        "load_before": round(os.getloadavg()[0], 2),
    }
