// SPDX-License-Identifier: BSL-1.0
#include "operations.hpp"

#include "calls.hpp"
#include "groups.hpp"
#include "kinds.hpp"
#include "posts.hpp"
#include "world.hpp"

#include <cmwq/bh.hpp>
#include <cmwq/stats.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <vector>

using cmwq::queue_status;

namespace soak {

namespace {

/// Calls `f` with a queue that is not replaced during the call.
template <class F>
void on_some_queue(world& w, F&& f) {
    slot& s = w.some_slot();
    if (const visit inside(s.in_use); inside) f(*s.queue, s.level);
}

void shared(user& u) {
    shared_place& p = u.w.some_shared();
    const visit inside(p.in_use);
    if (!inside) return;
    for (int i = 0; i < 8; ++i) {
        if (dice().one_in(4)) p.item->wait();
        else p.item->poke();
    }
}

void owned(user& u) {
    owned_item& i = u.w.some_owned();
    const alone mine(i.owner);
    if (!mine) return;
    slot& s = u.w.some_slot(i.level);
    if (const visit inside(s.in_use); inside) i.episode(*s.queue);
}

/// Queues several items on one queue and flushes the queue.
void batch(user& u) {
    slot& s = u.w.some_slot();
    const visit inside(s.in_use);
    if (!inside) return;
    std::vector<owned_item*> mine;
    for (int i = 0; i < 6; ++i) {
        owned_item& one = u.w.some_owned();
        if (one.level != s.level || !one.owner.close()) continue;
        static_cast<void>(one.queue_once(*s.queue));
        mine.push_back(&one);
    }
    does(op::flush, [&] { s.queue->flush(); });
    for (owned_item* one : mine) {
        one->expect_settled(*s.queue, "flush() of a queue");
        one->owner.open();
    }
}

void posts(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned level) {
        // This keeps the thread from queueing items faster than they run.
        if (q.posted > q.post_ran + 500) does(op::flush, [&] { q.flush(); });
        for (unsigned n = dice().below(16); n != 0; --n) post(u.w, q, level);
    });
}

void posts_in_order(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) {
        if (q.posted > q.post_ran + 500) does(op::flush, [&] { q.flush(); });
        for (unsigned n = dice().below(32); n != 0; --n) post_in_order(u.w, q, u.number);
    });
}

void reliable(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) {
        for (int i = 0; i < 4; ++i) q.reliable[dice().below(static_cast<unsigned>(q.reliable.size()))].use(u.number);
    });
}

void fleeting_items(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned level) {
        for (unsigned n = dice().below(8); n != 0; --n) fleeting(u.w, q, level);
    });
}

void futures(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned level) { async(u.w, q, level, true); });
}

void chains(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) { chain(u.w, q); });
}

void task_groups(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) { fork_and_join(u.w, q, false); });
}

void groups(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) { grow_groups(u.w, q); });
}

void bottom_halves_held_back(user& u) {
    does(op::bh_guard, [&] {
        const cmwq::bh_disable_guard hold;
        for (unsigned n = 1 + dice().below(3); n != 0; --n) {
            on_some_queue(u.w, [&](any_queue& q, unsigned level) {
                post(u.w, q, level);
                if (dice().one_in(4)) does(op::flush, [&] { q.flush(); });
            });
        }
        if (dice().one_in(4)) owned(u);
        if (dice().one_in(4)) shared(u);
    });
}

void limits(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) {
        if (!q.is.has_limit) return;
        const unsigned n = 1 + dice().below(dice().one_in(4) ? 256 : 8);
        does(op::set_max_active, [&] { q.set_max_active(n); });
        if (!q.is.has_attrs) return;
        try {
            does(op::set_min_active, [&] { q.set_min_active(n); });
        } catch (const std::invalid_argument&) { // another thread has lowered max_active
        }
    });
}

void attributes(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) {
        if (!q.is.has_attrs) return;
        try {
            does(op::apply, [&] {
                if (dice().one_in(8)) q.apply_own(); // its CPUs may not be available any more
                else q.apply(some_attrs(dice(), u.w.machine.cpus()));
            });
        } catch (const std::invalid_argument&) { // the attributes are unchanged
        }
    });
}

void flush(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) { does(op::flush, [&] { q.flush(); }); });
}

void drain(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) { does(op::drain, [&] { q.drain(); }); });
}

void replace_queue(user& u) { u.w.replace(u.w.some_slot()); }

void replace_shared(user& u) { u.w.replace(u.w.some_shared()); }

/// Makes, uses and destroys a queue that no other thread knows.
void short_lived_queue(user& u) {
    slot& like = u.w.some_slot();
    const std::unique_ptr<any_queue> q = u.w.make_queue(like.kinds);
    if (q == nullptr) return;
    for (unsigned n = dice().below(20); n != 0; --n) {
        if (dice().one_in(2)) post(u.w, *q, 0);
        else post_in_order(u.w, *q, u.number);
    }
    if (dice().one_in(2)) does(op::flush, [&] { q->flush(); });
    does(op::queue_destroyed, [&] { q->destroy(); });
}

/// Several threads queue closures, and one of them shuts the queue down.
void shut_down(user& u) {
    slot& s = u.w.victim();
    {
        const visit inside(s.in_use);
        if (!inside) return;
        any_queue& q = *s.queue;
        if (q.posted > q.post_ran + q.dropped + 500) does(op::flush, [&] { q.flush(); });
        for (unsigned n = dice().below(16); n != 0; --n) {
            if (dice().one_in(4)) async(u.w, q, s.level, dice().one_in(2));
            else post(u.w, q, s.level);
        }
        if (dice().one_in(4)) does(op::shutdown, [&] { q.shut_down(); });
        if (!q.is_shut()) return;
        cmwq::work nothing{[] {}};
        u.w.complain.expect(q.front().queue(nothing) == queue_status::rejected,
                            "a queue accepts items after shutdown()", q.is.kind);
    }
    u.w.replace(s);
}

/// Freezes the runtime: freezable queues run no item until the thaw.
void freeze(user& u) {
    host& h = u.w.machine;
    does(op::freeze, [&] { h.freeze(); });
    const std::chrono::microseconds time{dice().below(5000)};
    // Items may wait for items that are frozen: then the freeze is never complete.
    const bool frozen = does(op::wait_frozen, [&] { return h.wait_frozen(time); });
    if (frozen) {
        u.w.complain.expect(h.is_frozen(), "not frozen after wait_frozen()");
        u.w.for_each_slot([&](slot& s) {
            const visit inside(s.in_use);
            if (!inside || !s.queue->is.freezable) return;
            const std::uint64_t entered = s.queue->entered;
            u.w.complain.expect_equal(s.queue->inside, 0, "items run in a frozen queue", s.queue->is.kind);
            if (dice().one_in(4)) stress::block_for(std::chrono::microseconds{100});
            u.w.complain.expect_equal(s.queue->entered, entered, "a frozen queue starts items", s.queue->is.kind);
        });
    }
    does(op::thaw, [&] { h.thaw(); });
}

void change_runtime(user& u) {
    host& h = u.w.machine;
    switch (dice().below(4)) {
    case 0:
    case 1: does(op::unbound_cpus, [&] { h.set_unbound_cpus(dice()); }); break;
    case 2: does(op::default_scope, [&] { h.set_default_scope(dice()); }); break;
    case 3: does(op::refresh, [&] { h.refresh_topology(); }); break;
    }
}

void look(user& u) {
    host& h = u.w.machine;
    if (dice().one_in(4)) u.w.complain.expect(!does(op::dump, [&] { return h.dump(); }).empty(), "dump() is empty");
    const host::counts n = does(op::runtime_stats, [&] { return h.stats(); });
    u.w.complain.expect(n.completed <= n.started, "more items completed than started");
    on_some_queue(u.w, [&](any_queue& q, unsigned) {
        const cmwq::queue_stats s = does(op::queue_stats, [&] { return q.front().stats(); });
        u.w.complain.expect(s.completed <= s.started, "more items of a queue completed than started", q.is.kind);
    });
}

void misuse(user& u) {
    on_some_queue(u.w, [&](any_queue& q, unsigned) {
        does(op::misuse, [&] {
            constexpr unsigned no_cpu = 4096;
            cmwq::work nothing{[] {}};
            complaints& c = u.w.complain;
            c.expect(q.front().queue_on(no_cpu, nothing) == queue_status::rejected, "queued on a missing CPU",
                     q.is.kind);
            c.expect(!nothing.cancel() && !nothing.flush(), "an item that was never queued is pending", q.is.kind);
            try {
                q.front().set_max_active(0);
                c.add("max_active is 0", q.is.kind);
            } catch (const std::invalid_argument&) {}
        });
    });
}

struct operation {
    unsigned weight;
    void (*f)(user&);
};

constexpr operation operations[] = {
    {40, shared},
    {40, owned},
    {20, batch},
    {20, posts},
    {20, posts_in_order},
    {20, reliable},
    {10, fleeting_items},
    {10, futures},
    {2, chains},
    {10, task_groups},
    {4, groups},
    {8, bottom_halves_held_back},
    {8, limits},
    {8, attributes},
    {4, flush},
    {1, drain},
    {8, replace_queue},
    {4, replace_shared},
    {4, short_lived_queue},
    {2, change_runtime},
    {4, look},
    {4, misuse},
    {8, shut_down},
    {2, freeze},
};

} // namespace

void user::do_something() {
    if (w.only_groups()) {
        switch (dice().below(16)) {
        case 0: return limits(*this);
        case 1: return attributes(*this);
        case 2: return change_runtime(*this);
        default: return groups(*this);
        }
    }
    constexpr unsigned sum = [] {
        unsigned n = 0;
        for (const operation& o : operations) n += o.weight;
        return n;
    }();
    unsigned at = dice().below(sum);
    for (const operation& o : operations) {
        if (at < o.weight) return o.f(*this);
        at -= o.weight;
    }
}

} // namespace soak
