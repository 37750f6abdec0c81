# SPDX-License-Identifier: BSL-1.0
"""The line of the program to which a function of an item leads. The function in an item is a short one of the library;
it calls the callable, or contains it if the compiler has inlined it."""

import os
import re

import gdb

_LONGEST = 2000  # bytes of code that are searched
_HEADER = re.compile(r"/cmwq/(?:detail/.*|\w+)\.[hi]pp$|/include/c\+\+/|/bits/")
_TRANSFER = re.compile(r"^(?:call|jmp|bl|b)\w*\s+(0x[0-9a-f]+)")


def _function_at(address):
    """(the function that begins at that address, the end of its code); (None, None) if there is none with debug
    information. Its block may begin earlier: with a part that the compiler has put elsewhere."""
    block = gdb.block_for_pc(address)
    while block is not None and block.function is None:
        block = block.superblock
    if block is None or int(block.function.value().address) != address:
        return None, None
    return block.function, block.end


def _place(address):
    """The line of the program at that address; None if there is none, or if it belongs to the library or to C++'s."""
    sal = gdb.find_pc_line(address)
    if sal.symtab is None or not sal.line or _HEADER.search(sal.symtab.filename):
        return None
    return f"{os.path.basename(sal.symtab.filename)}:{sal.line}"


def line_of(address):
    """The place in the program of what the function at `address` calls, as "file.cpp:12"; None if it is unknown."""
    address = int(address)
    function, end = _function_at(address)
    if function is None:
        return _place(address)  # the compiler has merged it with an equal function, and has kept the line only
    code = gdb.selected_inferior().architecture().disassemble(address, min(end, address + _LONGEST) - 1)
    for one in code:
        if (place := _place(one["addr"])) is not None:
            return place
    for one in code:
        if (m := _TRANSFER.match(one["asm"])) and (place := _place(int(m[1], 16))) is not None:
            return place
    return None
