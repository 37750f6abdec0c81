# SPDX-License-Identifier: BSL-1.0
"""The line of the program to which a function of an item leads. The function in an item is a short one of the library;
it calls the callable, or contains it if the compiler has inlined it."""

import os
import re

import gdb

_LONGEST = 2000  # bytes of code that are searched
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


def _is_of_program(file, library):
    """Whether the file is none of the library's headers, which are in the folder `library`, nor one of C++'s."""
    return not file.startswith(library) and "/include/c++/" not in file and "/bits/" not in file


def _place(address):
    sal = gdb.find_pc_line(address)
    return f"{os.path.basename(sal.symtab.filename)}:{sal.line}" if sal.symtab is not None and sal.line else None


def line_of(address):
    """The place in the program of what the function at `address` calls, as "file.cpp:12"; None if it is unknown."""
    address = int(address)
    function, end = _function_at(address)
    if function is None or function.symtab is None:
        return None
    own = function.symtab.filename
    root = own.rfind("/cmwq/")
    if root < 0:
        return _place(address)
    library = own[:root + len("/cmwq/")]
    code = gdb.selected_inferior().architecture().disassemble(address, min(end, address + _LONGEST) - 1)
    for one in code:
        sal = gdb.find_pc_line(one["addr"])
        if sal.symtab is not None and sal.line and _is_of_program(sal.symtab.filename, library):
            return _place(one["addr"])
    for one in code:
        if m := _TRANSFER.match(one["asm"]):
            called, _ = _function_at(int(m[1], 16))
            if called is not None and called.symtab is not None and _is_of_program(called.symtab.filename, library):
                return _place(int(m[1], 16))
    return None
