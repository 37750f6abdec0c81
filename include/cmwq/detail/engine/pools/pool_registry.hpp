// SPDX-License-Identifier: BSL-1.0
//
// pool_registry: the pools that queues with equal attributes share.
#pragma once

#include <cmwq/detail/ds/stable_vector.hpp>
#include <cmwq/detail/engine/pools/cpu_record.hpp>
#include <cmwq/detail/engine/threads/thread_pool.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Finds or creates the pool for a pool_spec, and counts its users. A record is never freed: when its pool has no user
/// and no thread, it is used for another pool of the same kind.
///
/// Any thread may call every member that names no thread; no pool lock is held. Letters: PL lock_
class pool_registry {
public:
    /// `cpus`: their sentinels watch the elastic pools.
    pool_registry(const pool_env& env, std::uint64_t first_id, const cpu_records& cpus) noexcept
        : env_(env), first_id_(first_id), cpus_(cpus) {}
    pool_registry(const pool_registry&) = delete;
    pool_registry& operator=(const pool_registry&) = delete;

    /// Returns the pool with these attributes, kept until `put()`. Creates it, without a thread, if there is none.
    /// Throws std::bad_alloc.
    [[nodiscard]] item_pool& get(pool_spec spec) CMWQ_EXCLUDES(lock_);
    void put(const item_pool& pool) noexcept CMWQ_EXCLUDES(lock_);
    /// For dump(): the users of a pool, and its attributes if it has any. `locked`: another thread held the lock of the
    /// registry until `deadline`, steady clock. Throws std::bad_alloc.
    struct usage {
        bool locked = false;
        unsigned users = 0;
        pool_spec spec;
    };
    [[nodiscard]] usage usage_of(const item_pool& pool, std::int64_t deadline) const CMWQ_EXCLUDES(lock_);

    /// For the manager thread: asks the threads of all pools without a user to end.
    void end_unused() noexcept CMWQ_EXCLUDES(lock_);
    /// For the manager thread: makes the records of pools whose threads have ended available again.
    void free_ended() noexcept CMWQ_EXCLUDES(lock_);

    // All records, also those of pools that have ended: a stale id always names a record that is safe to read.
    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    [[nodiscard]] item_pool& at(std::size_t i) const noexcept { return *records_[i].pool; }
    /// The pool with that index, which the caller knows from a pool id. The caller may have got the id by a relaxed
    /// load, which does not publish the record: so this waits for the size that counts the record, and [VEC-1] that
    /// size publishes it.
    [[nodiscard]] item_pool& named(std::size_t i) const noexcept {
        for (backoff b; records_.size() <= i;) b.pause();
        return at(i);
    }

private:
    struct record {
        std::unique_ptr<elastic_pool> elastic; // I: one of the two
        std::unique_ptr<unbound_pool> unbound; // I
        item_pool* pool = nullptr;             // I: that one
        std::size_t hash = 0;                  // PL
        unsigned users = 0;                    // PL
        record* next = nullptr;                // PL: the next one in its bucket, or in one of the lists below
    };
    static constexpr std::size_t nr_buckets = 64;

    [[nodiscard]] record& unused_record_locked(bool managed) CMWQ_REQUIRES(lock_);
    void configure_elastic(item_pool& pool, pool_spec&& spec);
    void stop_watching(item_pool& pool) noexcept;

    const pool_env& env_;                            // I
    const std::uint64_t first_id_;                   // I: the id of the pool of the first record
    const cpu_records& cpus_;                        // I
    stable_vector<record> records_;                  // grows under PL
    mutable ranked_mutex<lock_rank::registry> lock_; // PL; before the pool locks
    record* buckets_[nr_buckets] CMWQ_GUARDED_BY(lock_) = {};
    record* unused_ CMWQ_GUARDED_BY(lock_) = nullptr; // without a user; the manager thread ends their threads
    record* ending_ CMWQ_GUARDED_BY(lock_) = nullptr; // their threads have been asked to end
    record* free_[2] CMWQ_GUARDED_BY(lock_) = {};     // unmanaged, managed
};

}}} // namespace cmwq::CMWQ_NS::detail
