# SPDX-License-Identifier: BSL-1.0
"""Walks the lists of the library. A list may be damaged, or a thread may be stopped while it changes it. So a walk ends
at the first link that leads to an element for the second time, or that cannot be read, and says so."""

import gdb

from cmwq_gdb import memory


class Walks:
    """Collects what was wrong with the lists that were walked. `limit`: the most elements that are read of one list."""

    def __init__(self, limit):
        self.limit = limit
        self.problems = []

    def note(self, what, problem):
        """Remembers a problem, once."""
        if (sentence := f"{what}: {problem}") not in self.problems:
            self.problems.append(sentence)

    def follow(self, first, step, what):
        """Yields the addresses first, step(first), … up to 0. `step` may raise gdb.error."""
        seen = set()
        while first != 0:
            if first in seen:
                return self.note(what, f"the link to {first:#x} leads back: the list is damaged, or a thread "
                                       "changes it")
            if len(seen) == self.limit:
                return self.note(what, f"more than {self.limit} elements, the others are left out (set cmwq limit)")
            seen.add(first)
            try:
                # Read the element before it is used: its address may be garbage.
                following = step(first)
            except gdb.error as e:
                return self.note(what, f"an element at {first:#x} cannot be read ({e})")
            yield first
            first = following

    def _nodes(self, first, end, node, what):
        def step(address):
            one = memory.at(address, node)
            following = int(one["next"])
            if following == 0:
                raise gdb.error("its link is null")
            if int(memory.at(following, node)["prev"]) != address:
                self.note(what, f"the links at {address:#x} and {following:#x} do not match: the list is damaged, or a "
                                "thread changes it")
            return 0 if following == end else following

        yield from self.follow(first, step, what)

    def of_list(self, list_, what):
        """Yields the elements of an intrusive_list, as values. Notes it if their number is not that of the list."""
        element = memory.plain(list_.type).template_argument(0)
        head = list_["head_"]
        size, end, n = int(list_["size_"]), memory.address_of(head), 0
        before = len(self.problems)
        if (first := int(head["next"])) != end:
            for address in self._nodes(first, end, head.type, what):
                n += 1
                yield memory.derived(memory.at(address, head.type), element)
        if n != size and len(self.problems) == before:
            self.note(what, f"{n} elements, but its size is {size}: the list is damaged, or a thread changes it")

    def of_ring(self, ring, what):
        """Yields the elements of an intrusive_ring, as values."""
        element = memory.plain(ring.type).template_argument(0)
        if (first := int(ring["first_"])) != 0:
            node = ring["first_"].type.target()
            for address in self._nodes(first, first, node, what):
                yield memory.derived(memory.at(address, node), element)

    def of_inbox(self, inbox, what):
        """Yields the elements of an inbox, as values, the oldest one first."""
        element = memory.plain(inbox.type).template_argument(0)
        head = memory.load(inbox["head_"])
        node = head.type.target()
        newest_first = list(self.follow(int(head), lambda a: int(memory.at(a, node)["next"]), what))
        for address in reversed(newest_first):
            yield memory.derived(memory.at(address, node), element)

    def of_chain(self, first, link, what):
        """Yields the objects of a chain of pointers: `first`, first[link], … to null. A link may be an atomic."""
        type_ = first.type.target()

        def step(address):
            following = memory.at(address, type_)[link]
            is_pointer = memory.plain(following.type).code == gdb.TYPE_CODE_PTR
            return int(following if is_pointer else memory.load(following))

        for address in self.follow(int(first), step, what):
            yield memory.at(address, type_)

    def of_stable_vector(self, vector, what):
        """Yields the elements of a stable_vector."""
        element = memory.plain(vector.type).template_argument(0)
        size = int(memory.load(vector["size_"]))
        for i in range(min(size, self.limit)):
            segment = (i // 8 + 1).bit_length() - 1  # the first segment has 8 elements, each one twice as many
            try:
                start = memory.load(vector["segments_"][segment])
                one = int(start[i - 8 * ((1 << segment) - 1)])
                memory.at(one, element).fetch_lazy()
            except gdb.error as e:
                return self.note(what, f"element {i} of {size} cannot be read ({e})")
            yield memory.at(one, element)
        if size > self.limit:
            self.note(what, f"{size} elements, of which only {self.limit} are read: damaged, or set cmwq limit")
