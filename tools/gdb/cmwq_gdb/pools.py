# SPDX-License-Identifier: BSL-1.0
"""Pools: their threads, and the items on their lists."""

from cmwq_gdb import memory
from cmwq_gdb.items import Item
from cmwq_gdb.workers import Worker

_CPU_POOLS = ("bound", "bound high", "bound fifo")
_BOTTOM_HALF_POOLS = ("bh", "bh high")


class Pool:
    """One pool, by its item_pool. `kind`: as it is shown."""

    def __init__(self, value, kind, process, first_id, users):
        self.value = value
        self.kind = kind
        self.users = users  # queues; None for the pools of a CPU
        self.ledger = value["ledger"]
        self.number = int(self.ledger["id_"]) - first_id
        self.address = memory.address_of(value)
        self.is_bottom_half = kind in _BOTTOM_HALF_POOLS
        self.is_managed = kind in _CPU_POOLS or kind == "elastic"
        self._process = process

    def workers(self, walks):
        """The records that a thread uses."""
        records = walks.of_chain(memory.load(self.ledger["all_"]), "next_record", f"pool {self.number}: records of workers")
        made = (Worker(one, self, self._process) for one in records)
        return sorted((w for w in made if w.exists), key=lambda w: w.number)

    def nr_workers(self):
        """(idle, all) threads."""
        if self.is_bottom_half:
            return 0, 0
        idle = self._threads()["spares_"].referenced_value()["idle_"]
        return int(idle["inside_"]["size_"]) + int(idle["outside_"]["size_"]), int(self._threads()["nr_live_"])

    def _threads(self):
        return self.value["threads"].dereference()

    def nr_running(self):
        """Counted workers; None in a pool that does not count them."""
        return int(memory.load(self.value["concurrency"].dereference()["nr_running_"])) if self.is_managed else None

    def is_locked(self):
        return int(memory.load(self.ledger["lock"]["word_"])) != 0

    def nr_listed(self):
        """Active items that have not started."""
        return int(self.ledger["worklist_"]["size_"])

    def place(self):
        """(its CPUs, those of its pod) as lists of CPUs."""
        if self.users is None:
            return str(int(self.value["number_"])), ""
        spec = self._threads()["spec_"]
        cpus, pod = memory.cpu_list(spec["cpus"]), memory.cpu_list(spec["pod"])
        return cpus, pod if pod != cpus else ""

    def nice(self):
        """The priority of its threads, as text."""
        if self.is_bottom_half:
            return "-"
        spec = self._threads()["spec_"]
        names = {0: str(int(spec["nice"])), 1: f"batch {int(spec['nice'])}", 2: "idle", 3: "fifo"}
        return names.get(int(spec["sched"]), "?")

    def in_inbox(self, walks):
        """The items that no thread has accepted yet, the oldest one first."""
        return [Item(one) for one in walks.of_inbox(self.ledger["inbox_"], f"pool {self.number}: inbox")]

    def pending(self, walks):
        """Yields (Item, why it waits) for the items that have a place in this pool and are not held back by a limit."""
        for one in walks.of_list(self.ledger["worklist_"], f"pool {self.number}: worklist"):
            yield Item(one), ""
        for item in self.in_inbox(walks):
            yield item, "in the inbox"
        for worker in self.workers(walks):
            yield from worker.waiting_items(walks)


def _item_pool_in(pool):
    """The base of a pool, which need not be at its beginning."""
    return pool.cast(next(f.type for f in pool.type.strip_typedefs().fields() if f.is_base_class and "item_pool" in f.name))


def of_table(table, process, walks):
    """Yields the pools of a pool_table that have, or have had, a use."""
    first_id = int(table["first_pool_id_"])
    for record in memory.elements(table["cpus_"], walks.limit):
        cpu = memory.owned(record).dereference()
        for i, kind in enumerate(_CPU_POOLS):
            yield Pool(_item_pool_in(cpu["pools"][i]), kind, process, first_id, None)
        for i, kind in enumerate(_BOTTOM_HALF_POOLS):
            yield Pool(_item_pool_in(cpu["bottom_halves"][i]), kind, process, first_id, None)
    for record in walks.of_stable_vector(table["registry_"]["records_"], "shared pools"):
        value = record["pool"].dereference()
        is_elastic = int(value["locals"]) != 0
        yield Pool(value, "elastic" if is_elastic else "unbound", process, first_id, int(record["users"]))
