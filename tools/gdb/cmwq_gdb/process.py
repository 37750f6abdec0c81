# SPDX-License-Identifier: BSL-1.0
"""The runtimes of the process with their pools and queues: the entry to everything that the commands show."""

import gdb

from cmwq_gdb import clocks, copies, lists, memory, pools
from cmwq_gdb.items import Waiting
from cmwq_gdb.queues import Queue
from cmwq_gdb.threads import Threads


class Runtime:
    """One runtime, by its runtime_core."""

    def __init__(self, value, copy, process):
        self.value = value
        self.address = memory.address_of(value)
        self.is_of_parent = bool(memory.load(value["listed_"]["dead_"]))
        self.cpus = memory.cpu_list(value["cpus_"]["cpus_"])
        walks = process.walks
        self.pools = sorted(pools.of_table(value["pools_"], process, walks), key=lambda p: p.number)
        self._number_of = {p.address: p.number for p in self.pools}
        self.queues = [Queue(one) for one in walks.of_list(value["queues_"]["list_"], "queues")]

    def number_of(self, pool_address):
        """The number of the pool at that address; "?" if there is none."""
        return self._number_of.get(pool_address, "?")

    def clock(self, walks):
        idle_since = [int(w.worker["idle_since"]) for p in self.pools if not p.is_bottom_half for w in p.workers(walks)]
        return clocks.RuntimeClock(int(self.value["options_"]["clock"]) == 0, max(idle_since, default=0))

    def waiting_items(self, walks):
        """The items that wait to run, by queue: first the pending ones, then the inactive, then the delayed ones."""
        found = []
        for pool in self.pools:
            for item, why in pool.pending(walks):
                found.append(Waiting(item, "pending", item.queue_name(), pool.number, why))
        clock = self.clock(walks)
        for queue in self.queues:
            for part in queue.parts(walks):
                number = self.number_of(part.pool_address)
                for item in part.inactive_items(walks, f'queue "{queue.name}": inactive items in pool {number}'):
                    found.append(Waiting(item, "inactive", queue.name, number))
            armed = sorted(queue.armed(walks), key=lambda one: one[1])
            found += [Waiting(item, "delayed", queue.name, None, clock.left(when)) for item, when in armed]
        return found


class Process:
    """What gdb shows at present. `limit`: the most elements that are read of one list. Raises copies.NotFound."""

    def __init__(self, limit):
        self.walks = lists.Walks(limit)
        self.threads = Threads()
        self.runtimes = []
        found = [(copy, copy.other_layout()) for copy in copies.find()]
        for copy, why in found:
            if why is not None:
                if all(w is not None for _, w in found):
                    raise copies.NotFound(f"The process has the library ({copy.namespace}), but {why}.")
                self.walks.note(f"a copy of the library ({copy.namespace})", f"cannot be read: {why}")
                continue
            first = memory.load(copy.directory["first_"])
            for listed in self.walks.of_chain(first, "next_", "runtimes"):
                value = listed["core"].referenced_value()
                try:
                    self.runtimes.append(Runtime(value, copy, self))
                except gdb.error as e:
                    self.walks.note(f"runtime at {memory.address_of(value):#x}", f"cannot be read ({e})")
