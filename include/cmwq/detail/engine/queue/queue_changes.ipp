// SPDX-License-Identifier: BSL-1.0
//
// Bodies of queue_changes and of queue_plan.

#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_changes.hpp>
#include <cmwq/detail/engine/threads/rescuer_requests.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <memory>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE queue_plan::~queue_plan() {
    for (const auto& p : fresh) {
        if (p->rescued_in != nullptr) p->rescued_in->end_rescuable(*p);
        env.pools.shared().put(*p->pool);
    }
}

CMWQ_INLINE void queue_changes::make_pwqs(priority prio) {
    const pool_env& env = queue_.env;
    auto m = std::make_unique<pwq_map>();
    m->of_cpu.reserve(env.cpus.nr_cpus());
    const scoped_lock g(pwqs_.lock);
    for (unsigned index = 0; index < env.cpus.nr_cpus(); ++index) {
        pool_workqueue* p = nullptr;
        if (queue_.how.pool == pool_kind::dispatcher) {
            p = new pool_workqueue(queue_, env.pools.bottom_half_at(index, prio), nullptr);
            p->max_active = ~0u; // no limit: the thread that drains a bottom-half pool runs one item at a time
        } else {
            p = new pool_workqueue(queue_, env.pools.pool_at(index, prio), nullptr);
            p->max_active = limits_.max_active();
        }
        pwqs_.add_locked(*p);
        m->of_cpu.push_back(p);
        if (queue_.own_rescuer != nullptr) env.pools.pool_at(index, prio).rescue->make_rescuable(*p);
    }
    routes_.publish(std::move(m));
    if (queue_.own_rescuer == nullptr) return;
    cpuset all = env.cpus.cpus();
    queue_.own_rescuer->follow(all);
}

CMWQ_INLINE queue_plan queue_changes::plan(const attrs& wanted, chosen_pools&& chosen) {
    const pool_env& env = queue_.env;
    queue_plan plan(*this, env, wanted, std::move(chosen));
    plan.map->of_cpu.resize(env.cpus.nr_cpus());
    const pwq_map* const now = routes_.map();
    for (pool_choice& choice : plan.chosen.pools) {
        item_pool& pool = env.pools.shared().get(std::move(choice.spec));
        pool_workqueue* pwq = nullptr;
        if (now != nullptr) { // a pool that is in both maps keeps its pwq
            for (pool_workqueue* old : now->of_cpu) {
                if (old->pool == &pool) pwq = old;
            }
        }
        if (pwq != nullptr) {
            env.pools.shared().put(pool);
        } else {
            try {
                if (pool.spec().node != no_node) limits_.make_slots(pool.spec().node);
                plan.fresh.reserve(plan.fresh.size() + 1);
                auto fresh = std::make_unique<pool_workqueue>(queue_, pool, &limits_.slots_of_machine());
                if (queue_.own_rescuer != nullptr) pool.rescue->make_rescuable(*fresh);
                plan.fresh.push_back(std::move(fresh));
            } catch (...) {
                env.pools.shared().put(pool);
                throw;
            }
            pwq = plan.fresh.back().get();
        }
        for (const unsigned index : choice.indices) plan.map->of_cpu[index] = pwq;
    }
    return plan;
}

CMWQ_INLINE void queue_changes::carry_out(queue_plan&& p, if_busy then) noexcept {
    const scoped_lock g(pwqs_.lock);
    static_cast<void>(finish_locked(pwqs_, then));
    CMWQ_ASSERT(left_map_ == nullptr);
    for (auto& fresh : p.fresh) {
        // In an ordered queue, items that are queued on it wait until all items queued before have ended.
        fresh->plugged = queue_.how.fifo && !pwqs_.empty_locked();
        pwqs_.add_locked(*fresh.release());
    }
    p.fresh.clear();
    attrs_ = std::move(p.wanted);
    const bool takes_guests = !queue_.how.fifo && attrs_ == attrs{};
    takes_guests_.store(takes_guests, relaxed);
    limits_.set_cpus_locked(p.chosen.cpus_of_node);
    if (queue_.own_rescuer != nullptr) queue_.own_rescuer->follow(p.chosen.cpus);
    limits_.share_out_locked(pwqs_);
    pwqs_.for_each_locked([&](pool_workqueue& pwq) {
        if (p.map->contains(pwq)) pwq.takes_guests.store(takes_guests, relaxed);
    });
    left_map_.reset(routes_.map());
    routes_.publish(std::move(p.map));
    if (left_map_ == nullptr) return;
    left_wait_ = {};
    if (!finish_locked(pwqs_, then)) queue_.request_reaping(); // tries again
}

CMWQ_INLINE bool queue_changes::finish() noexcept {
    if (!pwqs_.lock.try_lock()) return false;
    const scoped_lock g(pwqs_.lock, adopt_lock);
    return finish_locked(pwqs_, if_busy::leave);
}

CMWQ_INLINE bool queue_changes::finish_locked(const pwq_list& pwqs, if_busy then) noexcept {
    if (left_map_ == nullptr) return true;
    // Then an item that was pushed to an old pwq is in the inbox of its pool.
    for (backoff b; !routes_.readers->try_wait(left_wait_);) {
        if (then == if_busy::leave) return false;
        pwqs.lock.unlock(); // the producer may be stopped for long, and others need the pwqs
        b.pause();
        pwqs.lock.lock();
        if (left_map_ == nullptr) return true; // reap() has finished the change
    }
    const pwq_map& now = *routes_.map();
    bool reapable = false;
    for (pool_workqueue* pwq = pwqs.front_locked(); pwq != nullptr; pwq = pwqs.next_locked(*pwq)) {
        if (!left_map_->contains(*pwq) || now.contains(*pwq)) continue;
        if (pwq->ledger->detach(*pwq, queue_.how.fifo ? pwqs.next_locked(*pwq) : nullptr)) reapable = true;
    }
    left_map_.reset();
    if (reapable) queue_.request_reaping();
    return true;
}

CMWQ_INLINE bool queue_changes::reap() noexcept {
    if (!pwqs_.lock.try_lock()) return false;
    const scoped_lock g(pwqs_.lock, adopt_lock);
    if (!finish_locked(pwqs_, if_busy::leave)) return false;
    for (pool_workqueue* pwq = pwqs_.front_locked(); pwq != nullptr;) {
        pool_workqueue& one = *pwq;
        pwq = pwqs_.next_locked(one);
        if (one.ledger->may_be_freed(one)) {
            if (one.rescued_in != nullptr) one.rescued_in->end_rescuable(one);
            free_locked(pwqs_, one);
        } else if (queue_.how.fifo) {
            break; // the later pwqs wait for it
        }
    }
    limits_.divide_locked(pwqs_);
    return true;
}

CMWQ_INLINE void queue_changes::free_locked(pwq_list& pwqs, pool_workqueue& p) noexcept {
    pwqs.remove_locked(p);
    queue_.env.pools.shared().put(*p.pool);
    delete &p;
}

CMWQ_INLINE void queue_changes::give_back_pools() noexcept {
    if (!queue_.keyed()) return;
    const scoped_lock g(pwqs_.lock); // no other thread needs it any more
    static_cast<void>(finish_locked(pwqs_, if_busy::wait));
    routes_.readers->wait(); // producers may have pushed their items, but not notified the pool yet
    while (pool_workqueue* p = pwqs_.front_locked()) {
        if (queue_.how.fifo && p->serial > 1)
            p->ledger->receive_turn(); // from the pwq before, which is gone; and passes it on
        free_locked(pwqs_, *p);
    }
}

CMWQ_INLINE attrs queue_changes::attributes() const {
    const scoped_lock g(pwqs_.lock);
    return attrs_;
}

}}} // namespace cmwq::CMWQ_NS::detail
