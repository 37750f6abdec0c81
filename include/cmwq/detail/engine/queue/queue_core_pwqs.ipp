// SPDX-License-Identifier: BSL-1.0
//
// The bodies of queue_core for its pwqs, and of queue_plan: which pools serve a queue, and how they are exchanged while it
// is in use.

#include <cmwq/detail/engine/pools/pool_table.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <memory>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE queue_plan::~queue_plan() {
    for (const auto& p : fresh) {
        if (p->rescued_in != nullptr) p->rescued_in->end_rescuable(*p);
        queue->env.pools.shared().put(static_cast<worker_pool&>(*p->pool));
    }
}

CMWQ_INLINE void queue_core::make_pwqs() {
    auto m = std::make_unique<pwq_map>();
    m->of_cpu.reserve(env.cpus.nr_cpus());
    const scoped_lock g(lock_);
    for (unsigned index = 0; index < env.cpus.nr_cpus(); ++index) {
        pool_workqueue* p = nullptr;
        if (kind == pool_kind::dispatcher) {
            p = new pool_workqueue(*this, env.pools.bottom_half_at(index, prio), nullptr);
            p->max_active = ~0u; // no limit: the thread that drains a bottom-half pool runs one item at a time
        } else {
            p = new pool_workqueue(*this, env.pools.pool_at(index, prio), nullptr);
            p->max_active = max_active_.load(relaxed);
        }
        p->serial = ++nr_pwqs_made_;
        pwqs_.push_back(*p);
        m->of_cpu.push_back(p);
        if (own_rescuer != nullptr) env.pools.pool_at(index, prio).rescue.make_rescuable(*p);
    }
    map.store(m.release(), release); // [NEW]
    if (own_rescuer == nullptr) return;
    cpuset all = env.cpus.cpus();
    own_rescuer->follow(all);
}

CMWQ_INLINE queue_plan queue_core::plan(const attrs& wanted, chosen_pools&& chosen) {
    queue_plan plan(*this, wanted, std::move(chosen));
    plan.map->of_cpu.resize(env.cpus.nr_cpus());
    const pwq_map* const now = map.load(relaxed);
    for (pool_choice& choice : plan.chosen.pools) {
        worker_pool& pool = env.pools.shared().get(std::move(choice.spec));
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
                if (pool.spec().node != no_node) make_slots(pool.spec().node);
                plan.fresh.reserve(plan.fresh.size() + 1);
                auto fresh = std::make_unique<pool_workqueue>(*this, pool, &slots_of_machine_);
                if (own_rescuer != nullptr) pool.rescue.make_rescuable(*fresh);
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

CMWQ_INLINE void queue_core::carry_out(queue_plan&& p, bool may_wait) noexcept {
    const scoped_lock g(lock_);
    static_cast<void>(finish_change_locked(may_wait));
    CMWQ_ASSERT(left_map_ == nullptr);
    const pwq_map* const old = map.load(relaxed);
    for (auto& fresh : p.fresh) {
        pool_workqueue& pwq = *fresh.release();
        pwq.serial = ++nr_pwqs_made_;
        // In an ordered queue, items that are queued on it wait until all items queued before have ended.
        pwq.plugged = fifo && !pwqs_.empty();
        pwq.frozen = frozen_;
        pwqs_.push_back(pwq);
    }
    p.fresh.clear();
    attrs_ = std::move(p.wanted);
    const bool takes_guests = !fifo && attrs_ == attrs{};
    takes_guests_.store(takes_guests, relaxed);
    cpus_of_node_.swap(p.chosen.cpus_of_node);
    if (own_rescuer != nullptr) own_rescuer->follow(p.chosen.cpus);
    share_out_locked();
    const pwq_map* const fresh = p.map.release();
    for (pool_workqueue* pwq = pwqs_.front(); pwq != nullptr; pwq = pwqs_.next(*pwq)) {
        if (fresh->contains(*pwq)) pwq->takes_guests.store(takes_guests, relaxed);
    }
    map.store(fresh, seq_cst); // [GRACE-2]
    if (old == nullptr) return;
    left_map_.reset(old);
    left_wait_ = {};
    if (!finish_change_locked(may_wait)) request_reaping(); // tries again
}

CMWQ_INLINE bool queue_core::finish_change() noexcept {
    const scoped_lock g(lock_);
    return finish_change_locked(false);
}

CMWQ_INLINE bool queue_core::finish_change_locked(bool may_wait) noexcept {
    if (left_map_ == nullptr) return true;
    // Then an item that was pushed to an old pwq is in the inbox of its pool.
    for (backoff b; !grace->try_wait(left_wait_); b.pause()) {
        if (!may_wait) return false;
    }
    const pwq_map& now = *map.load(relaxed);
    bool reapable = false;
    for (pool_workqueue* pwq = pwqs_.front(); pwq != nullptr; pwq = pwqs_.next(*pwq)) {
        if (!left_map_->contains(*pwq) || now.contains(*pwq)) continue;
        if (pwq->ledger->detach(*pwq, fifo ? pwqs_.next(*pwq) : nullptr)) reapable = true;
    }
    left_map_.reset();
    if (reapable) request_reaping();
    return true;
}

CMWQ_INLINE bool queue_core::reap() noexcept {
    if (!lock_.try_lock()) return false;
    const scoped_lock g(lock_, adopt_lock);
    if (!finish_change_locked(false)) return false;
    for (pool_workqueue* pwq = pwqs_.front(); pwq != nullptr;) {
        pool_workqueue& one = *pwq;
        pwq = pwqs_.next(one);
        if (!one.ledger->may_be_freed(one)) {
            if (fifo) break; // the later pwqs wait for it
            continue;
        }
        if (one.rescued_in != nullptr) one.rescued_in->end_rescuable(one);
        const queue_stats counted = one.ledger->stats_of(one);
        gone_.started += counted.started;
        gone_.completed += counted.completed;
        pwqs_.remove(one);
        env.pools.shared().put(static_cast<worker_pool&>(*one.pool));
        delete &one;
    }
    if (!is_divided_ && !fifo) share_out_locked();
    return true;
}

CMWQ_INLINE void queue_core::give_back_pools() noexcept {
    if (!keyed()) return;
    const scoped_lock g(lock_);
    static_cast<void>(finish_change_locked(true));
    grace->wait(); // producers may have pushed their items, but not notified the pool yet
    while (pool_workqueue* p = pwqs_.pop_front()) {
        if (fifo && p->serial > 1) p->ledger->receive_turn(); // from the pwq before, which is gone; and passes it on
        env.pools.shared().put(static_cast<worker_pool&>(*p->pool));
        delete p;
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
