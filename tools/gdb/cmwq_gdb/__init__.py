# SPDX-License-Identifier: BSL-1.0
"""The state of the library in a process or in a core file, for gdb. Everything is read from memory: no function of the
program is called, and no lock is taken, so it does not matter where the threads are stopped."""


def register():
    """Adds the commands and the pretty-printers to gdb. Replaces those of an earlier call."""
    from cmwq_gdb import commands, printers

    commands.register()
    printers.register()
