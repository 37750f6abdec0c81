// SPDX-License-Identifier: BSL-1.0
//
// run_table: finds the worker of a pool that runs an item, in a time that does not grow with the number of workers.
#pragma once

#include <cmwq/detail/engine/ledger/run_record.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A hash table of the workers whose `current` is set, with `current` as key, and a short list of *followers*: workers
/// that change `current` without the lock of the pool, because they run local items one after the other in one run.
///
/// Not thread-safe: the lock of the pool guards it. The pool enlarges it with the number of its workers, and allocates
/// the memory without the lock. If there is no memory the table only gets slower.
class run_table {
public:
    using buckets = std::unique_ptr<run_record*[]>;

    run_table() noexcept = default;
    run_table(const run_table&) = delete;
    run_table& operator=(const run_table&) = delete;

    /// The worker that runs `w`, which goes on with that run at least until the caller releases the lock; null: none.
    [[nodiscard]] run_record* find(const work_base& w) noexcept {
        if (run_record* const k = find_in_table(w); k != nullptr) return k;
        run_record* k = followers_.front();
        while (k != nullptr && !k->holds_end_of(w)) k = followers_.next(*k);
        return k;
    }
    /// The worker behind whose run `w` waits.
    [[nodiscard]] run_record& run_before(const work_base& w) noexcept {
        if (run_record* const k = find_in_table(w); k != nullptr) return *k;
        // The item may have ended there already, but not the run.
        for (run_record* k = followers_.front(); k != nullptr; k = followers_.next(*k)) {
            if (k->scheduled.front() == &w) return *k;
        }
        CMWQ_ASSERT(false); // the caller has found that it waits
        __builtin_unreachable();
    }
    /// Adds `k`, which has begun a run and has set `current`.
    void add(run_record& k) noexcept {
        run_record** const bucket = bucket_of(k.current.load(relaxed));
        k.next_in_bucket = *bucket;
        *bucket = &k;
    }
    /// Makes `k`, whose `current` is null, a follower until the end of its run. False: there are too many.
    [[nodiscard]] bool add_follower(run_record& k) noexcept {
        constexpr std::size_t most = 16; // more than a pod has CPUs; the others are blocked
        if (followers_.size() >= most) return false;
        followers_.push_back(k);
        k.is_follower = true;
        return true;
    }
    void remove_follower(run_record& k) noexcept {
        followers_.remove(k);
        k.is_follower = false;
        k.end_needs_lock.store(false, relaxed); // written under the lock
    }
    /// Removes `k`, whose item has ended. Called before `current` is reset.
    void remove(run_record& k) noexcept {
        if (k.is_follower) return;
        run_record** link = bucket_of(k.current.load(relaxed));
        while (*link != &k) link = &(*link)->next_in_bucket;
        *link = k.next_in_bucket;
    }

    /// Whether the table is too small for that number of runs.
    [[nodiscard]] bool is_small_for(std::size_t nr_runs) const noexcept { return nr_runs > 2 * size_; }
    /// Allocates buckets for about that number of runs; null: no memory. The caller holds no lock.
    [[nodiscard]] static std::pair<buckets, std::size_t> make_room(std::size_t nr_runs) noexcept {
        const std::size_t size = std::bit_ceil(nr_runs) * 2;
        return {buckets(new (std::nothrow) run_record* [size] {}), size};
    }
    /// Moves the table to `room`, and leaves the former buckets there, to be freed without the lock.
    void move_to(std::pair<buckets, std::size_t>& room) noexcept {
        if (room.first == nullptr || room.second <= size_) return;
        run_record** const old = table_;
        const std::size_t old_size = std::exchange(size_, room.second);
        large_.swap(room.first);
        table_ = large_.get();
        shift_ = shift_for(size_);
        for (std::size_t i = 0; i < old_size; ++i) {
            while (run_record* const k = old[i]) {
                old[i] = k->next_in_bucket;
                add(*k);
            }
        }
    }

private:
    static constexpr std::size_t nr_small = 8;

    [[nodiscard]] run_record* find_in_table(const work_base& w) const noexcept {
        run_record* k = *bucket_of(&w);
        while (k != nullptr && k->current.load(relaxed) != &w) k = k->next_in_bucket;
        return k;
    }

    /// How far a mixed key is shifted to give an index of that many buckets, a power of two.
    static constexpr int shift_for(std::size_t size) noexcept { return 64 - std::countr_zero(size); }
    [[nodiscard]] run_record** bucket_of(const work_base* w) const noexcept {
        const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(w));
        const std::uint64_t mixed = address * 0x9e3779b97f4a7c15u; // the upper bits depend on the whole address
        return &table_[mixed >> shift_];
    }

    run_record** table_ = small_;
    int shift_ = shift_for(nr_small);
    std::size_t size_ = nr_small; // a power of two
    run_record* small_[nr_small] = {};
    buckets large_;
    intrusive_list<run_record, follower_tag> followers_;
};

}}} // namespace cmwq::CMWQ_NS::detail
