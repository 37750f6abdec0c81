// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmwq/detail/engine/pool/pool_registry.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>

#include <memory>
#include <utility>

namespace cmwq::inline CMWQ_NS::detail {

CMWQ_INLINE worker_pool& pool_registry::get(pool_spec spec) {
    const std::size_t hash = spec.hash();
    const scoped_lock g(lock_);
    record*& bucket = buckets_[hash % nr_buckets];
    for (record* r = bucket; r != nullptr; r = r->next) {
        if (r->hash != hash || r->pool.spec() != spec) continue;
        ++r->users;
        return r->pool;
    }
    if (free_ == nullptr) {
        const auto n = records_.size();
        free_ = &records_.append(std::make_unique<record>(rt_, rt_.id_of_shared_pool(n), static_cast<unsigned>(n)));
    }
    record& r = *free_;
    const cpuset watchers = rt_.places_of(spec.managed ? rt_.watchers_of(spec) : cpuset{});
    r.pool.configure(std::move(spec), watchers);
    try {
        watch(r.pool);
    } catch (...) {
        stop_watching(r.pool);
        throw;
    }
    // In its last life it may have ended before its sentinels fell asleep, and now none of them is armed for it.
    r.pool.disarmed();
    free_ = r.next;
    r.hash = hash;
    r.users = 1;
    r.next = bucket;
    bucket = &r;
    return r.pool;
}

CMWQ_INLINE void pool_registry::put(worker_pool& pool) noexcept {
    {
        const scoped_lock g(lock_);
        record& r = records_[pool.number()];
        if (--r.users != 0) return;
        record** link = &buckets_[r.hash % nr_buckets];
        while (*link != &r) link = &(*link)->next;
        *link = r.next;
        r.next = unused_;
        unused_ = &r;
    }
    rt_.request_cleaning();
}

CMWQ_INLINE unsigned pool_registry::users_of(const worker_pool& pool, pool_spec& spec) const {
    const scoped_lock g(lock_); // without a user the record may serve another pool as soon as this is dropped
    const unsigned users = records_[pool.number()].users;
    if (users != 0) spec = pool.spec();
    return users;
}

CMWQ_INLINE void pool_registry::end_unused() noexcept {
    for (;;) {
        record* r = nullptr;
        {
            const scoped_lock g(lock_);
            r = unused_;
            if (r == nullptr) break;
            unused_ = r->next;
        }
        stop_watching(r->pool);
        r->pool.end_threads();
        const scoped_lock g(lock_);
        r->next = ending_;
        ending_ = r;
    }
    free_ended(); // those that never had a thread
}

CMWQ_INLINE void pool_registry::free_ended() noexcept {
    const scoped_lock g(lock_);
    for (record** link = &ending_; *link != nullptr;) {
        record& r = **link;
        if (!r.pool.has_ended()) {
            link = &r.next;
            continue;
        }
        *link = r.next;
        r.next = free_;
        free_ = &r;
    }
}

CMWQ_INLINE void pool_registry::watch(worker_pool& pool) {
    pool.for_each_watcher(worker_pool::watchers::all, [&](unsigned place) {
        rt_.sentinel_at(place).watch(pool, pool.spec().pod.contains(rt_.cpu_at(place)));
    });
}

CMWQ_INLINE void pool_registry::stop_watching(worker_pool& pool) noexcept {
    pool.for_each_watcher(worker_pool::watchers::all,
                          [&](unsigned place) { rt_.sentinel_at(place).stop_watching(pool); });
}

} // namespace cmwq::inline CMWQ_NS::detail
