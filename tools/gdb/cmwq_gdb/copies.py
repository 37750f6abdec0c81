# SPDX-License-Identifier: BSL-1.0
"""Finds the copies of the library in a process: a program and each plugin may have one. A copy is found by the variable
that lists its runtimes, whatever the version in its namespace."""

import os
import re
import tempfile

import gdb

from cmwq_gdb import memory

_VARIABLE = re.compile(r"\b(cmwq::\w+)::detail::directory::the_one_\b")


LAYOUT = 1  # of the members that the commands read, as detail::directory says it


class NotFound(Exception):
    """There is nothing to show. The text says why, and what to do."""


class Copy:
    """One copy: `namespace` is, for instance, cmwq::v0_std; `directory` the object that lists its runtimes."""

    def __init__(self, namespace, directory, symtab):
        self.namespace = namespace
        self.directory = directory
        self._block = symtab.global_block()

    def other_layout(self):
        """Why the commands cannot read this copy; None if they can."""
        try:
            layout = int(self.directory["layout_"])
        except gdb.error:
            layout = 0  # it is older than the number
        if layout == LAYOUT:
            return None
        return (f"its members have the layout {layout}, and these commands know the layout {LAYOUT}. Load those of the "
                "version with which the program was compiled, by `source PATH/tools/gdb/cmwq.py`")

    def type(self, name):
        """The type `name` of the namespace of the engine, as this copy was compiled."""
        return gdb.lookup_type(f"{self.namespace}::detail::{name}", self._block)


def _namespaces():
    """The namespaces with that variable, with and without debug information."""
    return sorted(set(_VARIABLE.findall(gdb.execute("info variables -q directory::the_one_", to_string=True))))


def _addresses(objfile, mangled):
    """The addresses of an ELF symbol in one file. gdb has one value for a symbol that several files define, that of the
    program, even if the files do not share the object."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "symbols")
        gdb.execute(f"maint print msymbols -objfile {objfile.filename} -- {path}", to_string=True)
        with open(path, encoding="utf-8", errors="replace") as lines:
            hits = (re.search(rf"\b[dDbBS] (0x[0-9a-f]+) {re.escape(mangled)}\b", line) for line in lines)
            return {int(m[1], 16) for m in hits if m}


def _copies_of(namespace):
    name = f"{namespace}::detail::directory::the_one_"
    symbols = [(o, s) for o in gdb.objfiles() if (s := o.lookup_global_symbol(name)) is not None]
    seen = set()
    for objfile, symbol in symbols:
        value = symbol.value()
        addresses = {memory.address_of(value)}
        if len(symbols) > 1:
            addresses = _addresses(objfile, symbol.linkage_name) or addresses
        for address in sorted(addresses - seen):
            seen.add(address)
            yield Copy(namespace, memory.at(address, value.type), symbol.symtab)


def find():
    """All copies, at least one. Raises NotFound."""
    if not gdb.selected_inferior().pid and not gdb.selected_inferior().threads():
        raise NotFound("There is no process. Start the program, attach to it by `attach PID`, or open a core file by "
                       "`core FILE`.")
    namespaces = _namespaces()
    copies = [c for namespace in namespaces for c in _copies_of(namespace)]
    if copies:
        return copies
    if namespaces:
        raise NotFound(f"The process has the library ({', '.join(namespaces)}), but no debug information "
                       "for it. Compile the file that includes <cmwq/runtime.hpp>, <cmwq/cmwq.hpp> or "
                       "<cmwq/engine.hpp> with -g (the target cmwq::compiled: the whole build), or give gdb the file "
                       "with the debug information by `symbol-file FILE`. An optimized program may stay as it is.")
    raise NotFound("No cmwq in this process: no loaded file defines cmwq::…::detail::directory::the_one_. If the "
                   "program is stripped, give gdb the file with its symbols by `symbol-file FILE`; for a core file, "
                   "start gdb with the program as well: gdb PROGRAM CORE.")
