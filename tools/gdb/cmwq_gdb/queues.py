# SPDX-License-Identifier: BSL-1.0
"""Queues: their limits, and their items in each pool."""

from cmwq_gdb import memory
from cmwq_gdb.items import Item

_PER_CPU, _ATTRS_KEYED = 0, 1  # enum pool_kind
# The bits of queue_gate::state_; the number of drains is above them.
_CLOSED = ((~7, "draining"), (2, "being destroyed"), (4, "shut down"), (1, "of the parent process"))


class PerPool:
    """The part of a queue in one pool: a pool_workqueue."""

    def __init__(self, value):
        self.value = value
        self.pool_address = int(value["pool"])
        self.active = int(value["nr_active"])
        self.pending = int(value["nr_waiting"])
        self.inactive = int(value["inactive"]["size_"])
        self.max_active = int(value["max_active"])
        self.in_flight = int(value["colors"]["nr_entered_"]) - int(value["colors"]["nr_left_"])

    def flags(self):
        texts = (("plugged", "plugged: an older part of the queue has not drained"), ("frozen", "frozen"),
                 ("held_back", "held back by shutdown()"), ("mayday", "waits for the rescuer"))
        found = [text for field, text in texts if self.value[field]]
        return found + (["replaced"] if memory.load(self.value["detached"]) else [])

    def inactive_items(self, walks, what):
        return [Item(one) for one in walks.of_list(self.value["inactive"], what)]


class Queue:
    """One queue, by its queue_core."""

    def __init__(self, value):
        self.value = value
        self.address = memory.address_of(value)
        self.name = memory.text(value["name"])
        self.is_keyed = int(value["how"]["pool"]) == _ATTRS_KEYED

    def policy(self):
        how = self.value["how"]
        if int(how["pool"]) == _PER_CPU:
            return "bound"
        if not self.is_keyed:
            return "bh"
        return "ordered" if how["fifo"] else "elastic" if how["local_lists"] else "unbound"

    def limits(self):
        """(max_active, min_active or None)"""
        limits = self.value["limits"]
        has_least = self.is_keyed and not self.value["how"]["fifo"]
        return int(memory.load(limits["max_active_"])), int(memory.load(limits["min_active_"])) if has_least else None

    def flags(self):
        closed = int(memory.load(self.value["gate"]["state_"]))
        found = [text for bit, text in _CLOSED if closed & bit]
        priority = str(self.value["prio"]).rpartition("::")[2]
        found += [f"priority {priority}"] if priority != "normal" else []
        found += ["managed"] if self.value["how"]["managed"] and self.policy() in ("unbound", "ordered") else []
        found += [text for text in ("cpu_intensive", "freezable", "exported") if self.value[text]]
        found += ["frozen"] if self.value["pwqs"]["frozen_"] else []
        found += ["rescuer"] if int(self.value["own_rescuer"]) != 0 else []
        return found

    def parts(self, walks):
        """Its parts in the pools, the oldest one first."""
        return [PerPool(one) for one in walks.of_list(self.value["pwqs"]["list_"], f'queue "{self.name}": pools')]

    def armed(self, walks):
        """Yields (Item, deadline in nanoseconds of the runtime's clock) for its armed timers."""
        for ring in self._rings(walks):
            for timer in walks.of_ring(ring, f'queue "{self.name}": timers'):
                yield Item(_work_base(timer["item"])), int(timer["deadline"])

    def _rings(self, walks):
        if not self.is_keyed:
            for part in self.parts(walks):
                yield part.value["armed"]
            return
        grace = memory.owned(self.value["routes"]["readers"]).dereference()
        for i in range(min(int(grace["nr_"]), walks.limit)):
            yield grace["stripes_"][i]["armed"]


def _work_base(delayed):
    """The work_base of a delayed_work_base*: its first base class."""
    type_ = memory.plain(delayed.type.target())
    base = next(f for f in type_.fields() if f.is_base_class)
    return memory.at(int(delayed) + base.bitpos // 8, base.type)
