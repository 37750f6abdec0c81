# SPDX-License-Identifier: BSL-1.0
"""The texts of the commands. Each function gets a Process and a Runtime, and returns a text."""

import gdb

from cmwq_gdb import memory, threads
from cmwq_gdb.tables import Table


def _guarded(process, what, f):
    """Calls f(). If it reads memory that does not exist, notes that for the object `what`, and goes on."""
    try:
        f()
    except gdb.error as e:
        process.walks.note(what, f"cannot be read ({e})")


def _part_line(runtime, part):
    text = (f"    pool {runtime.number_of(part.pool_address)}: {part.active} active ({part.active - part.pending} "
            f"running, {part.pending} pending), {part.inactive} inactive")
    return text + "".join(f", {flag}" for flag in part.flags())


def queues(process, runtime):
    """Each queue with its limits, and its items in each pool where it has some."""
    table = Table("QUEUE", "ADDRESS", "POLICY", "MAX_ACTIVE", "MIN_ACTIVE", "IN FLIGHT", "DELAYED", "FLAGS")
    unaccepted = {}
    for pool in runtime.pools:
        def count(pool=pool):
            # The items that a worker holds behind a run have been accepted; local items, and those of the inbox, not.
            held = [i for i, why in pool.pending(process.walks) if why == "in the inbox" or why.startswith("local")]
            for item in held:
                address = item.queue_address()
                unaccepted[address] = unaccepted.get(address, 0) + 1
        _guarded(process, f"pool {pool.number}", count)
    for queue in runtime.queues:
        def add(queue=queue):
            parts = queue.parts(process.walks)
            most, least = queue.limits()
            extra = unaccepted.get(queue.address, 0)
            in_flight = sum(p.in_flight for p in parts) + extra
            table.row(f'"{queue.name}"', f"{queue.address:#x}", queue.policy(), most, least, in_flight,
                      len(list(queue.armed(process.walks))), ", ".join(queue.flags()))
            for part in parts:
                if part.in_flight or part.inactive or part.active or part.flags():
                    table.line(_part_line(runtime, part))
            if extra:
                table.line(f"    {extra} not accepted by a pool yet")
        _guarded(process, f"queue at {queue.address:#x}", add)
    return str(table)


def _is_used(pool):
    idle, all_ = pool.nr_workers()
    return all_ != 0 or bool(pool.users) or pool.nr_listed() != 0 or int(pool.ledger["busy_"]["size_"]) > 1 or \
        int(memory.load(pool.ledger["inbox_"]["head_"])) != 0


def pools(process, runtime):
    """Each pool that has threads, queues or items."""
    table = Table("POOL", "KIND", "CPUS", "POD", "NICE", "IDLE/WORKERS", "RUNNING", "PENDING", "INACTIVE", "LOCK")
    inactive = {}
    for queue in runtime.queues:
        for part in queue.parts(process.walks):
            inactive[part.pool_address] = inactive.get(part.pool_address, 0) + part.inactive
    for pool in runtime.pools:
        def add(pool=pool):
            if not _is_used(pool) and not inactive.get(pool.address):
                return
            idle, all_ = pool.nr_workers()
            cpus, pod = pool.place()
            pending = pool.nr_listed() + len(pool.in_inbox(process.walks))
            table.row(pool.number, pool.kind, cpus, pod, pool.nice(), f"{idle}/{all_}", pool.nr_running(), pending,
                      inactive.get(pool.address, 0), "held" if pool.is_locked() else "free")
        _guarded(process, f"pool {pool.number}", add)
    return str(table)


def workers(process, runtime):
    """Each worker: its thread, and what it runs."""
    table = Table("POOL", "WORKER", "TID", "GDB", "ITEM", "FUNCTION", "QUEUE", "STATE")
    for pool in runtime.pools:
        def add_all(pool=pool):
            for worker in pool.workers(process.walks):
                _guarded(process, f"worker {worker.number} of pool {pool.number}",
                         lambda worker=worker: _add_worker(table, pool, worker))
        _guarded(process, f"pool {pool.number}", add_all)
    return str(table)


def _add_worker(table, pool, worker):
    name = worker.number if worker.kind == "worker" else f"{worker.number} ({worker.kind})"
    number = worker.thread.num if worker.thread is not None else None
    if not worker.is_running:
        table.row(pool.number, name, worker.tid or None, number, None, None, None, worker.state())
        return
    state = worker.state()
    if (place := threads.place(worker.thread)) is not None:
        state += f", in {place}"
    table.row(pool.number, name, worker.tid or None, number, f"{worker.item():#x}" if worker.item() else "gone",
              worker.function(), f'"{worker.queue_name()}"', state)
    if description := worker.description():
        table.line(f'    described as "{description}"')


def items(process, runtime):
    """Each item that waits to run."""
    table = Table("ITEM", "FUNCTION", "LINE", "QUEUE", "STATE", "POOL", "DETAIL")
    for one in runtime.waiting_items(process.walks):
        def add(one=one):
            table.row(f"{one.item.address:#x}", one.item.function(), one.item.line(),
                      f'"{one.queue}"' if one.queue is not None else None, one.place, one.pool, one.detail)
        _guarded(process, f"item at {one.item.address:#x}", add)
    return str(table)


def callers(process):
    """The threads that wait inside the library and are no workers; empty if there are none."""
    own = {w.thread.num for r in process.runtimes for p in r.pools for w in p.workers(process.walks)
           if w.thread is not None}
    lines = []
    for thread in process.threads.all():
        if thread.num in own or (call := threads.call_of(thread)) is None:
            continue
        text, object_ = call
        lines.append(f"  thread {thread.num} (tid {thread.ptid[1]}) waits in {text}"
                     + (f" for {_name_of(process, object_)}" if object_ else ""))
    return "\n".join(lines)


def _name_of(process, address):
    for runtime in process.runtimes:
        for queue in runtime.queues:
            if queue.address == address:
                return f'queue "{queue.name}"'
    return f"{address:#x}"
