# SPDX-License-Identifier: BSL-1.0
"""Names of functions: what an item runs, as the program calls it."""

import re

import gdb

from cmwq_gdb import memory, sources

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

_ASYNC = "cmwq::make_async<"  # the callable of async(), whose first argument is that of the program


def pointed_to(address, item):
    """The address of the function to which the callable of the item points; None if the callable is no pointer to a
    function, or is unknown. `address`: the function in the item."""
    name = symbol_at(address)
    m = _WRAPPER.match(name)
    if item is None or m is None or "(*" not in _arguments(name, m.start(1)) or (type_ := _class_of(address)) is None:
        return None
    try:
        function = memory.at(memory.address_of(item), gdb.lookup_type(type_))["f_"]
        return int(function) if memory.plain(function.type).code == gdb.TYPE_CODE_PTR else None
    except gdb.error:
        return None  # a file without debug information has made the item


def of_function(address, item=None):
    """The name of what an item runs. `address`: the function in the item; `item`: the item, if it exists."""
    name = symbol_at(address)
    if name.startswith("cmwq::detail::run_task") and item is not None:
        try:
            return of_function(_task(item)["perform"], item)
        except gdb.error:
            return "a task of a group"
    if (m := _WRAPPER.match(name)) is None:
        return name
    callable_ = _arguments(name, m.start(1))
    if "work_member" in m[0]:
        member = re.sub(r"^\(?&\(?", "", callable_)
        return re.sub(r"\(.*$", "", member).rstrip(")")
    function = pointed_to(address, item)
    if function is not None:
        return symbol_at(function)
    return _arguments(callable_, len(_ASYNC) - 1) if callable_.startswith(_ASYNC) else callable_


def line_of(address, item):
    """The place in the program of what an item runs, as "file.cpp:12"; None if it is unknown."""
    try:
        if item is not None and symbol_at(address).startswith("cmwq::detail::run_task"):
            address = _task(item)["perform"]
        function = pointed_to(address, item)
        return sources.line_of(address if function is None else function)
    except gdb.error:
        return None


def _task(item):
    """The task of a group whose work_base is `item`."""
    namespace = re.match(r"cmwq::\w+", memory.plain(item.type).name)[0]
    return memory.derived(item, gdb.lookup_type(f"{namespace}::detail::group_task"))


def _class_of(address):
    """The class of which the function at that address is a member, with its full name; None if it is unknown."""
    block = gdb.block_for_pc(int(address))
    while block is not None and block.function is None:
        block = block.superblock
    return re.sub(r"::(?:call|perform_step)\(.*$", "", block.function.print_name) if block is not None else None
