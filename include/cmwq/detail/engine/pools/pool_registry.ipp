// SPDX-License-Identifier: BSL-1.0
//
// Bodies of pool_registry: finding, creating, ending and reusing shared pools.

#include <cmwq/detail/engine/pools/pool_registry.hpp>
#include <cmwq/detail/sync/try_lock.hpp>

#include <memory>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE item_pool& pool_registry::get(pool_spec spec) {
    const std::size_t hash = spec.hash();
    const scoped_lock g(lock_);
    record*& bucket = buckets_[hash % nr_buckets];
    for (record* r = bucket; r != nullptr; r = r->next) {
        if (r->hash != hash || r->pool->spec() != spec) continue;
        ++r->users;
        return *r->pool;
    }
    const bool managed = spec.managed;
    record& r = unused_record_locked(managed);
    if (managed) configure_elastic(*r.pool, std::move(spec));
    else r.pool->configure(std::move(spec), {});
    free_[managed] = r.next;
    r.hash = hash;
    r.users = 1;
    r.next = bucket;
    bucket = &r;
    return *r.pool;
}

CMWQ_INLINE pool_registry::record& pool_registry::unused_record_locked(bool managed) {
    record*& free = free_[managed];
    if (free != nullptr) return *free;
    const auto n = records_.size();
    auto r = std::make_unique<record>();
    const auto make = [&]<class Pool>(std::unique_ptr<Pool>& pool) {
        pool = std::make_unique<Pool>(env_, first_id_ + n, static_cast<unsigned>(n), pool_serves::attributes);
        r->pool = pool.get();
    };
    if (managed) make(r->elastic);
    else make(r->unbound);
    free = &records_.append(std::move(r));
    return *free;
}

CMWQ_INLINE void pool_registry::configure_elastic(item_pool& pool, pool_spec&& spec) {
    const cpuset sentinels = env_.cpus.indices_of(env_.cpus.sentinel_cpus_of(spec));
    pool.configure(std::move(spec), sentinels);
    try {
        pool.concurrency->for_each_sentinel([&](unsigned index) {
            const bool in_pod = pool.spec().pod.contains(env_.cpus.number_of(index));
            cpus_[index]->idle_thread.watch(*pool.concurrency, in_pod ? sentinel::near::pod : sentinel::near::none);
        });
    } catch (...) {
        stop_watching(pool);
        throw;
    }
    // The previous pool of this record may have ended while its flag was set, and none of the new pool's sentinels is
    // armed.
    pool.concurrency->disarmed();
}

CMWQ_INLINE void pool_registry::put(const item_pool& pool) noexcept {
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
    env_.requests.request_cleaning();
}

CMWQ_INLINE pool_registry::usage pool_registry::usage_of(const item_pool& pool, std::int64_t deadline) const {
    if (!try_lock_until(lock_, deadline)) return {.locked = true, .users = 0, .spec = {}};
    const scoped_lock g(lock_, adopt_lock);
    const unsigned users = records_[pool.number()].users;
    // Without a user, the record may serve another pool once the lock is released.
    return {.locked = false, .users = users, .spec = users != 0 ? pool.spec() : pool_spec{}};
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
        stop_watching(*r->pool);
        r->pool->threads->end();
        const scoped_lock g(lock_);
        r->next = ending_;
        ending_ = r;
    }
    free_ended(); // frees at once the pools that never had a thread
}

CMWQ_INLINE void pool_registry::free_ended() noexcept {
    const scoped_lock g(lock_);
    for (record** link = &ending_; *link != nullptr;) {
        record& r = **link;
        if (!r.pool->threads->have_ended()) {
            link = &r.next;
            continue;
        }
        *link = r.next;
        record*& free = free_[r.pool->concurrency != nullptr];
        r.next = free;
        free = &r;
    }
}

CMWQ_INLINE void pool_registry::stop_watching(item_pool& pool) noexcept {
    if (pool.concurrency == nullptr) return;
    pool.concurrency->for_each_sentinel(
        [&](unsigned index) { cpus_[index]->idle_thread.stop_watching(*pool.concurrency); });
}

}}} // namespace cmwq::CMWQ_NS::detail
