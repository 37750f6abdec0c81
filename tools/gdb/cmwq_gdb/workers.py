# SPDX-License-Identifier: BSL-1.0
"""Workers: the threads of the pools, and the items that they run."""

from cmwq_gdb import clocks, memory, names, threads
from cmwq_gdb.items import Item


_KINDS = ("worker", "rescuer", "nested", "guest")  # as run_record::record_of


class Worker:
    """A run_record of a pool, and the worker whose thread runs items under it."""

    def __init__(self, run, pool, process):
        self.run = run
        self.pool = pool
        self.worker = run["of_thread"].dereference()
        self.tid, os_thread = self._ids()
        handle = int(os_thread["handle_"]) if bool(os_thread["joinable_"]) else 0
        self.thread = process.threads.find(self.tid, handle) if self.tid != 0 else None

    def _ids(self):
        """The system's id of its thread, and the object of the thread. The threads of rescuers have no record."""
        if self.kind == "rescuer" and self.is_running:
            rescuer = self.run["current_pwq"].dereference()["queue"].dereference()["own_rescuer"]
            if int(rescuer) != 0:
                return int(memory.load(rescuer.dereference()["tid_"])), rescuer.dereference()["thread_"]
        return int(memory.load(self.worker["probe"]["tid_"])), self.worker["os_thread"]

    @property
    def kind(self):
        """"worker", "rescuer", "nested" (an item inside another one), or "bh" (of a pool without threads)."""
        if self.pool.is_bottom_half:
            return "bh"
        return _KINDS[int(self.run["record"])]

    @property
    def number(self):
        """Numbers the workers of the pool."""
        return int(self.worker["id"])

    @property
    def is_running(self):
        """Whether it runs an item."""
        return int(self.run["current_pwq"]) != 0

    @property
    def exists(self):
        """Whether a thread uses the record."""
        return self.is_running or self.tid != 0 and self.kind == "worker"

    @property
    def is_idle(self):
        return bool(self.worker["idle"])

    def item(self):
        """The address of the item that it runs; 0: it runs none, or the item does not exist any more."""
        return int(self.run["own_item"])

    def function(self):
        """What it runs."""
        address = memory.load(self.run["function"])
        item = self.run["own_item"]
        return names.of_function(address, item.dereference() if int(item) != 0 else None)

    def queue_name(self):
        return memory.text(self.run["current_pwq"].dereference()["queue"].dereference()["name"])

    def description(self):
        """The text that this_work::describe() has set for this run."""
        return self.run["description"].string(encoding="utf-8", errors="replace")

    def state(self):
        """What it does, as text."""
        if not self.is_running:
            return "idle" if self.is_idle else "ends" if self.worker["retiring"] else "between items"
        if int(self.run["waits"]) != 0:
            return f"waits in {self._registered_wait()}"
        if self.thread is not None and (call := threads.call_of(self.thread)) is not None and self._is_newest():
            text, object_ = call
            return f"waits in {text}" + (f" for {object_:#x}" if object_ else "")
        if memory.load(self.worker["finishing"]):
            return "ends its item"
        if self.pool.is_managed and self.kind == "worker" and not memory.load(self.worker["counted"]):
            return "runs, uncounted as cpu_intensive" if self.worker["cpu_intensive"] else "blocked"
        return "runs"

    def _is_newest(self):
        """Whether its item is the innermost one of its thread."""
        return int(self.worker["nr_nested"]) == 0 or self.kind == "nested"

    def _registered_wait(self):
        wait = self.run["waits"].dereference()
        call = wait["by_"]["name"].string(errors="replace", length=80).split("\0")[0]
        if int(wait["queue_"]) != 0:
            target = f'queue "{memory.text(wait["queue_"].dereference()["name"])}"'
            if int(wait["group_"]) != 0:
                target = f"a task group on {target}"
        else:
            item, function = wait["item_"]["item"], wait["item_"]["function"]
            target = f"item {int(item):#x} ({names.of_function(function, self._awaited(wait))})"
        return f"{call} for {target}{clocks.since(int(wait['since_']))}"

    def _awaited(self, wait):
        """The awaited item, if it surely exists: its waiter is registered, and the waiter has its type."""
        waiter = wait["iw_"]
        if int(waiter) == 0 or not waiter.dereference()["waits"]:
            return None
        return waiter.dereference()["item"].dereference()

    def waiting_items(self, walks):
        """Yields (Item, why it waits) for the items that this worker holds."""
        where = f"worker {self.number} of pool {self.pool.number}"
        for one in walks.of_list(self.run["scheduled"], f"{where}: items behind its run"):
            yield Item(one), f"behind its own run in {where}"
        if self.kind == "nested":
            return  # the local items are those of its worker
        for one in walks.of_list(self.worker["local"]["list_"], f"{where}: local items"):
            yield Item(one), f"local item of {where}"
