// SPDX-License-Identifier: BSL-1.0
//
// pool_registry: the pools that are shared by queues of equal attributes.
#pragma once

#include <cmwq/detail/ds/stable_vector.hpp>
#include <cmwq/detail/engine/pool/thread_pool.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cmwq::inline CMWQ_NS::detail {

/// Letters: PL lock_
class pool_registry {
public:
    pool_registry(const pool_env& env, std::uint64_t first_id) noexcept : env_(env), first_id_(first_id) {}
    pool_registry(const pool_registry&) = delete;
    pool_registry& operator=(const pool_registry&) = delete;

    /// The pool of that kind, kept until `put()`. Makes it if there is none, without a thread. Throws std::bad_alloc.
    [[nodiscard]] rescuable_pool& get(pool_spec spec) CMWQ_EXCLUDES(lock_);
    void put(rescuable_pool& pool) noexcept CMWQ_EXCLUDES(lock_);
    /// How many keep it, for callers who do not; if any, its attributes, too. Throws std::bad_alloc.
    [[nodiscard]] unsigned users_of(const rescuable_pool& pool, pool_spec& spec) const CMWQ_EXCLUDES(lock_);

    /// The staff thread: tells the threads of the pools to end that nobody keeps any more.
    void end_unused() noexcept CMWQ_EXCLUDES(lock_);
    /// The staff thread: pools whose threads are gone can be used again.
    void free_ended() noexcept CMWQ_EXCLUDES(lock_);

    // All records, also those of pools that have ended and wait for the next use: stale ids find something harmless.
    [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
    [[nodiscard]] rescuable_pool& at(std::size_t i) const noexcept { return *records_[i].pool; }
    /// The one that an id names. A relaxed load may have told the id, and nothing of the record: [VEC-1] the size that
    /// counts it does.
    [[nodiscard]] rescuable_pool& named(std::size_t i) const noexcept {
        for (backoff b; records_.size() <= i;) b.pause();
        return at(i);
    }

private:
    struct record {
        std::unique_ptr<rescuable_pool> pool; // I
        std::size_t hash = 0;                 // PL
        unsigned users = 0;                   // PL
        record* next = nullptr;               // PL: in its bucket, or in one of the lists below
    };
    static constexpr std::size_t nr_buckets = 64;

    [[nodiscard]] record& unused_record_locked(bool managed) CMWQ_REQUIRES(lock_);
    void configure_managed(managed_pool& pool, pool_spec&& spec);
    void stop_watching(rescuable_pool& pool) noexcept;

    const pool_env& env_;                            // I
    const std::uint64_t first_id_;                   // I: of the pool of the first record
    stable_vector<record> records_;                  // grows under PL
    mutable ranked_mutex<lock_rank::registry> lock_; // PL; before the pool locks
    record* buckets_[nr_buckets] CMWQ_GUARDED_BY(lock_) = {};
    record* unused_ CMWQ_GUARDED_BY(lock_) = nullptr; // nobody keeps them; the staff thread ends their threads
    record* ending_ CMWQ_GUARDED_BY(lock_) = nullptr; // their threads have been told to end
    record* free_[2] CMWQ_GUARDED_BY(lock_) = {};     // unmanaged, managed
};

} // namespace cmwq::inline CMWQ_NS::detail
