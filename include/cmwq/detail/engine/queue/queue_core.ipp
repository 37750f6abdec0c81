// SPDX-License-Identifier: BSL-1.0
//
// queue_core: limits, and how the pools of a live queue are exchanged.
#pragma once

#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

inline constexpr unsigned default_min_active = 8;

CMWQ_INLINE void check_max_active(unsigned n) {
    if (n >= 1 && n <= max_active_ceiling) return;
    throw std::invalid_argument("cmwq: max_active is " + std::to_string(n) + ", it must be 1 to " +
                                std::to_string(max_active_ceiling));
}

CMWQ_INLINE void check_min_active(unsigned n, unsigned max_active) {
    if (n >= 1 && n <= max_active) return;
    throw std::invalid_argument("cmwq: min_active is " + std::to_string(n) + ", it must be 1 to max_active, which is " +
                                std::to_string(max_active));
}

CMWQ_INLINE queue_core::queue_core(runtime_core& runtime, const queue_settings& s)
    : rt(runtime), name(s.name), kind(s.pool), managed(s.managed), fifo(s.fifo), prio(s.prio),
      cpu_intensive(s.cpu_intensive), freezable(s.freezable), front(s.front),
      grace(s.pool == pool_kind::attrs_keyed ? std::make_unique<grace_period>(runtime.nr_cpus()) : nullptr),
      max_active_(s.max_active), min_active_(std::min(default_min_active, s.max_active)) {
    if (s.min_active == 0) return;
    check_min_active(s.min_active, s.max_active);
    min_active_.store(s.min_active, relaxed);
}

CMWQ_INLINE queue_core::~queue_core() {
    // What was never published, or is the parent's; a queue that has lived ends its rescuer before.
    if (!is_dead()) end_rescuer();
    while (pool_workqueue* p = pwqs_.pop_front()) delete p;
    delete map.load(relaxed);
    if (on_exception.destroy != nullptr) on_exception.destroy(on_exception.context);
}

CMWQ_INLINE queue_plan::~queue_plan() {
    for (const auto& p : fresh) {
        p->pool->end_rescuable(*p);
        queue->rt.pools().put(*p->pool);
    }
}

// --- limits -----------------------------------------------------------------------------------------------------------

CMWQ_INLINE node_slots& queue_core::slots_of_node(int node) {
    if (node < 0) return spanning_slots_;
    const scoped_lock g(lock_);
    const auto n = static_cast<std::size_t>(node);
    while (slots_of_nodes_.size() <= n) slots_of_nodes_.push_back(std::make_unique<node_slots>());
    return *slots_of_nodes_[n];
}

// Each node gets its share by CPUs, rounded up, but no less than min_active; pools that span nodes count on their own,
// up to the whole limit.
CMWQ_INLINE void queue_core::share_out_locked() noexcept {
    const unsigned max = max_active_.load(relaxed), min = min_active_.load(relaxed);
    unsigned all_cpus = 0;
    for (const unsigned n : cpus_of_node_) all_cpus += n;
    spanning_slots_.set_max(max);
    for (std::size_t node = 0; node < slots_of_nodes_.size(); ++node) {
        const unsigned here = node < cpus_of_node_.size() ? cpus_of_node_[node] : 0;
        const unsigned share = here == 0 ? min : (max * here + all_cpus - 1) / all_cpus;
        slots_of_nodes_[node]->set_max(std::clamp(share, min, max));
    }
    while (worker_pool* p = spanning_slots_.grant()) p->after_push();
    for (const auto& slots : slots_of_nodes_) {
        while (worker_pool* p = slots->grant()) p->after_push();
    }
}

CMWQ_INLINE void queue_core::set_max_active(unsigned n) noexcept {
    const scoped_lock g(lock_);
    max_active_.store(n, relaxed);
    if (min_active_.load(relaxed) > n) min_active_.store(n, relaxed);
    if (keyed()) {
        share_out_locked();
    } else {
        for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) p->pool->set_max_active(*p, n);
    }
}

CMWQ_INLINE void queue_core::set_min_active(unsigned n) {
    const scoped_lock g(lock_);
    check_min_active(n, max_active_.load(relaxed));
    min_active_.store(n, relaxed);
    share_out_locked();
}

// --- pwqs -------------------------------------------------------------------------------------------------------------

CMWQ_INLINE void queue_core::make_pwqs() {
    auto m = std::make_unique<pwq_map>();
    m->of_place.reserve(rt.nr_cpus());
    const scoped_lock g(lock_);
    for (unsigned place = 0; place < rt.nr_cpus(); ++place) {
        const bool dispatched = kind == pool_kind::dispatcher;
        auto* p =
            new pool_workqueue(*this, dispatched ? rt.bottom_half_at(place, prio) : rt.pool_at(place, prio), nullptr);
        // What drains a bottom half runs one item at a time: there is nothing to limit.
        p->max_active = dispatched ? ~0u : max_active_.load(relaxed);
        p->serial = ++nr_pwqs_made_;
        pwqs_.push_back(*p);
        m->of_place.push_back(p);
        if (its_rescuer != nullptr) p->pool->make_rescuable(*p);
    }
    map.store(m.release(), release); // [NEW]
    if (its_rescuer == nullptr) return;
    cpuset all = rt.cpus();
    its_rescuer->follow(all);
}

CMWQ_INLINE queue_plan queue_core::plan(const attrs& wanted, bool lenient) {
    queue_plan plan(*this, wanted);
    plan.map->of_place.resize(rt.nr_cpus());
    const pwq_map* const now = map.load(relaxed);
    for (pool_choice& choice : rt.choose_pools(plan, lenient)) {
        worker_pool& pool = rt.pools().get(std::move(choice.spec));
        pool_workqueue* pwq = nullptr;
        if (now != nullptr) { // a pool that stays keeps its pwq
            for (pool_workqueue* old : now->of_place) {
                if (old->pool == &pool) pwq = old;
            }
        }
        if (pwq != nullptr) {
            rt.pools().put(pool);
        } else {
            try {
                node_slots& slots = slots_of_node(fifo ? -1 : pool.spec().node);
                plan.fresh.reserve(plan.fresh.size() + 1);
                auto fresh = std::make_unique<pool_workqueue>(*this, pool, &slots);
                if (its_rescuer != nullptr) pool.make_rescuable(*fresh);
                plan.fresh.push_back(std::move(fresh));
            } catch (...) {
                rt.pools().put(pool);
                throw;
            }
            pwq = plan.fresh.back().get();
        }
        for (const unsigned place : choice.places) plan.map->of_place[place] = pwq;
    }
    return plan;
}

CMWQ_INLINE void queue_core::carry_out(queue_plan&& p) noexcept {
    const scoped_lock g(lock_);
    const pwq_map* const old = map.load(relaxed);
    for (auto& fresh : p.fresh) {
        pool_workqueue& pwq = *fresh.release();
        pwq.serial = ++nr_pwqs_made_;
        // Whatever is queued on it waits until all that was queued before has ended.
        pwq.plugged = fifo && !pwqs_.empty();
        pwq.frozen = frozen_;
        pwqs_.push_back(pwq);
    }
    p.fresh.clear();
    attrs_ = std::move(p.wanted);
    cpus_of_node_.swap(p.cpus_of_node);
    if (its_rescuer != nullptr) its_rescuer->follow(p.cpus);
    share_out_locked();
    const pwq_map* const fresh = p.map.release();
    map.store(fresh, seq_cst); // [GRACE-2]
    if (old == nullptr) return;
    grace->wait(); // what was pushed to an old pwq is in its pool's inbox now
    bool reapable = false;
    for (pool_workqueue* pwq = pwqs_.front(); pwq != nullptr; pwq = pwqs_.next(*pwq)) {
        if (old->contains(*pwq) && !fresh->contains(*pwq) && pwq->pool->detach(*pwq)) reapable = true;
    }
    delete old;
    if (reapable) rt.request_reaping(*this);
}

CMWQ_INLINE void queue_core::reap() noexcept {
    const scoped_lock g(lock_);
    for (pool_workqueue* pwq = pwqs_.front(); pwq != nullptr;) {
        pool_workqueue& one = *pwq;
        pwq = pwqs_.next(one);
        if (!one.pool->may_be_freed(one)) {
            if (fifo) break; // the others wait for it
            continue;
        }
        const queue_stats counted = one.pool->stats_of(one);
        gone_.started += counted.started;
        gone_.completed += counted.completed;
        pwqs_.remove(one);
        rt.pools().put(*one.pool);
        delete &one;
    }
    if (fifo && !pwqs_.empty()) pwqs_.front()->pool->unplug(*pwqs_.front());
}

CMWQ_INLINE void queue_core::give_back_pools() noexcept {
    if (!keyed()) return;
    grace->wait(); // they have queued, and are just looking whether somebody has to be woken
    const scoped_lock g(lock_);
    while (pool_workqueue* p = pwqs_.pop_front()) {
        rt.pools().put(*p->pool);
        delete p;
    }
}

// --- rescue, freezing, shut-down --------------------------------------------------------------------------------------

CMWQ_INLINE void queue_core::make_rescuer() { its_rescuer = std::make_unique<rescuer>(*this); }

CMWQ_INLINE void queue_core::end_rescuer() noexcept {
    if (its_rescuer == nullptr) return;
    its_rescuer->stop(); // called for what others have run since, it may have been on its way to a seat
    for_each_pwq([](pool_workqueue& p) { p.pool->end_rescuable(p); });
    its_rescuer.reset();
}

CMWQ_INLINE void queue_core::set_frozen(bool frozen) noexcept {
    const scoped_lock g(lock_);
    frozen_ = frozen;
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) p->pool->set_frozen(*p, frozen);
}

CMWQ_INLINE bool queue_core::is_active() const noexcept {
    bool active = false;
    for_each_pwq([&](pool_workqueue& p) { active |= p.pool->nr_active_of(p) != 0; });
    return active;
}

CMWQ_INLINE void queue_core::begin_dropping() noexcept {
    const scoped_lock g(lock_);
    ++nr_dropping_;
}

CMWQ_INLINE void queue_core::end_dropping() noexcept {
    const scoped_lock g(lock_);
    if (--nr_dropping_ != 0) return;
    // A thread that found the queue open long ago may push only now: its item runs, as one that came before.
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) p->pool->let_go(*p);
}

CMWQ_INLINE work_base* queue_core::take_held_back(std::uint64_t& first) noexcept {
    const scoped_lock g(lock_);
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) {
        if (p->serial < first) continue; // nothing is left there
        first = p->serial;
        if (work_base* const w = p->pool->take_held_back(*p); w != nullptr) return w;
    }
    return nullptr;
}

// One by one: what becomes of an item may be the end of others, which have to be where they can be taken away.
template <class F>
std::size_t queue_core::drop_pending(F&& to) {
    for_each_pwq([](pool_workqueue& p) { p.pool->hold_back(p); });
    std::size_t n = 0;
    const auto drop = [&](work_base& w) {
        ++n;
        if (work_access::is_self_owned(w)) {
            work_access::drop(w);
        } else {
            work_access::clear_pending(w);
            to(w);
        }
    };
    while (work_base* w = rt.timers().take_one(*this)) drop(*w);
    for (std::uint64_t first = 0; work_base* w = take_held_back(first);) drop(*w);
    return n;
}

CMWQ_INLINE attrs queue_core::attributes() const {
    const scoped_lock g(lock_);
    return attrs_;
}

CMWQ_INLINE queue_stats queue_core::stats() const noexcept {
    const scoped_lock g(lock_);
    queue_stats total = gone_;
    for (pool_workqueue* p = pwqs_.front(); p != nullptr; p = pwqs_.next(*p)) {
        const queue_stats one = p->pool->stats_of(*p);
        total.started += one.started;
        total.completed += one.completed;
    }
    return total;
}

} // namespace cmwq::inline CMWQ_NS::detail
