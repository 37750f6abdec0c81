# SPDX-License-Identifier: BSL-1.0
"""Reads objects of C++ by their addresses and types. Raises gdb.error, of which gdb.MemoryError is one kind, if memory
cannot be read or a type is unknown."""

import gdb


def plain(type_):
    """The type without typedefs, references, const and volatile."""
    type_ = type_.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        type_ = type_.target().strip_typedefs()
    return type_.unqualified()


def at(address, type_):
    """The object of that type at that address."""
    return gdb.Value(int(address)).cast(type_.pointer()).dereference()


def address_of(value):
    """The address of an object, as a number."""
    return int(value.address)


def load(atomic):
    """The content of an `atomic<T>` or `set_once<T>`: T is its first member, in every standard library."""
    return at(atomic.address, plain(atomic.type).template_argument(0))


def owned(unique_ptr):
    """The pointer in a std::unique_ptr, whose deleter is empty: its only member."""
    type_ = plain(plain(unique_ptr.type).template_argument(0))
    if type_.code == gdb.TYPE_CODE_ARRAY:
        type_ = type_.target()
    return at(unique_ptr.address, type_.pointer())


def elements(vector, limit):
    """Yields the first `limit` elements of a std::vector: its first two members are the pointers to begin and end."""
    type_ = plain(vector.type).template_argument(0)
    first, last = at(vector.address, type_.pointer().array(1))[0], at(vector.address, type_.pointer().array(1))[1]
    for i in range(min(max(int(last - first), 0), limit)):
        yield (first + i).dereference()


def text(string, longest=200):
    """The content of a std::string, as text, cut off after `longest` bytes."""
    try:
        first, size = string["_M_dataplus"]["_M_p"], int(string["_M_string_length"])  # libstdc++
    except gdb.error:
        return str(string).strip('"')  # libc++: its pretty-printer, if there is one
    return first.string(encoding="utf-8", errors="replace", length=min(size, longest))


def offset_of_base(type_, base):
    """Where the base class `base` begins in `type_`, in bytes; None if it is none of its bases."""
    type_, base = plain(type_), plain(base)
    if type_.name == base.name:
        return 0
    for field in type_.fields():
        if field.is_base_class and (inner := offset_of_base(field.type, base)) is not None:
            return field.bitpos // 8 + inner
    return None


def derived(base, type_):
    """The object of `type_` that contains the base class object `base`."""
    offset = offset_of_base(type_, base.type)
    if offset is None:
        raise gdb.error(f"{plain(base.type).name} is no base class of {plain(type_).name}")
    return at(address_of(base) - offset, type_)


def cpu_numbers(cpuset):
    """The numbers of a cmwq::cpuset, in ascending order."""
    words = [int(w) for w in elements(cpuset["words_"], 1024)]
    return [64 * i + b for i, w in enumerate(words) for b in range(64) if w >> b & 1]


def cpu_list(cpuset):
    """A cmwq::cpuset in the kernel's format: "0-3,8"."""
    ranges = []
    for cpu in cpu_numbers(cpuset):
        if ranges and ranges[-1][1] + 1 == cpu:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)
