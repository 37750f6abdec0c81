# SPDX-License-Identifier: BSL-1.0
"""Names of functions: what an item runs, as the program calls it."""

import re

import gdb

from cmwq_gdb import memory

_INLINE_NAMESPACE = re.compile(r"\bcmwq::v\d+_\w+::")


def short(name):
    """A name without the version namespace of the library and without the parameters of lambda expressions."""
    return _INLINE_NAMESPACE.sub("cmwq::", name).replace("(anonymous namespace)::", "")


def symbol_at(address):
    """The function at that address; the address as text if there is no symbol."""
    address = int(address)
    if address == 0:
        return "null"
    # The symbol of the linker numbers the lambda expressions of a function; the debug information does not.
    name = re.match(r"(.+?)(?: \+ \d+)? in section ", gdb.execute(f"info symbol {address:#x}", to_string=True))
    return short(name[1]) if name else f"{address:#x}"


def _arguments(text, opening):
    """The text in the angle brackets that begin at that index. The name of a lambda expression, or of an operator, may
    contain such a bracket alone, which then ends the text too early or not at all."""
    depth = 0
    for i in range(opening, len(text)):
        if text[i] == "<":
            depth += 1
        elif text[i] == ">" and text[i - 1] != "-":
            depth -= 1
            if depth == 0:
                return text[opening + 1:i]
    return text[opening + 1:]


# The functions that the library passes to its items, each a static member of a template: its argument is the callable.
_WRAPPER = re.compile(r"^(?:static )?cmwq::(?:work|delayed_work|work_member|detail::posted|detail::group_task_of)(<)")


def _target(callable_, object_, type_name):
    """The function to which a callable of an item leads: that of a function pointer, else the type of the callable."""
    if object_ is None or "(*" not in callable_ or "lambda" in callable_:
        return callable_
    try:
        item = memory.at(memory.address_of(object_), gdb.lookup_type(type_name))
        function = item["f_"]
        if memory.plain(function.type).code == gdb.TYPE_CODE_PTR:
            return symbol_at(function)
    except gdb.error:
        pass  # the type is unknown: a file without debug information has made the item
    return callable_


def of_function(address, item=None):
    """The name of what an item runs. `address`: the function in the item; `item`: the item, if it exists."""
    name = symbol_at(address)
    if name.startswith("cmwq::detail::run_task") and item is not None:
        try:
            task = memory.derived(item, gdb.lookup_type(_namespace(item) + "::detail::group_task"))
            return of_function(task["perform"], None)
        except gdb.error:
            return "a task of a group"
    if (m := _WRAPPER.match(name)) is None:
        return name
    callable_ = _arguments(name, m.start(1))
    if "work_member" in m[0]:
        member = re.sub(r"^\(?&\(?", "", callable_)
        return re.sub(r"\(.*$", "", member).rstrip(")")
    full = symbol_type(address)
    return _target(callable_, item, full) if full else callable_


def symbol_type(address):
    """The class of which the function at that address is a member, with its full name; None if it is unknown."""
    block = gdb.block_for_pc(int(address))
    while block is not None and block.function is None:
        block = block.superblock
    if block is None:
        return None
    return re.sub(r"::(?:call|perform_step)\(.*$", "", block.function.print_name)


def _namespace(item):
    return re.match(r"cmwq::\w+", memory.plain(item.type).name)[0]
