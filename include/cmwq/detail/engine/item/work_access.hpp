// SPDX-License-Identifier: BSL-1.0
//
// The engine's access to the private members of an item, and the protocol of its two words.
//
// state   PENDING, the constant "has a timer", and the disable depth. Changed by read-modify-writes only.
// location  the id of the pool where the item is or was last, and its list there; 0: never queued. Written by the owner
//         of PENDING while the item is in transit, and by the holder of the pool's lock while it is on a list of that
//         pool. If a thread reads "on a list of P" under the lock of pool P, the value is exact, because only holders
//         of that lock set and clear it. Any other value may be stale, and means "not on a list of P".
#pragma once

#include <cmwq/delayed_work.hpp>
#include <cmwq/work.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The low bits of `location`, below the pool id.
namespace location {
inline constexpr std::uint64_t on_worklist = 1; // active: waits for a worker
inline constexpr std::uint64_t on_inactive = 2; // inactive: the queue is at its limit
inline constexpr std::uint64_t on_worker = 3;   // waits for the end of its current run
inline constexpr std::uint64_t list_mask = 3;
inline constexpr std::uint64_t has_waiters = 4;    // a thread waits for this instance
inline constexpr std::uint64_t may_be_running = 8; // the item was queued before, so a worker may still run it
inline constexpr unsigned color_shift = 4;
inline constexpr std::uint64_t color_mask = 15u << color_shift;
// Of an item on no list: it is a local item of a worker. It has no color yet.
inline constexpr std::uint64_t local = 1u << color_shift;
inline constexpr std::uint64_t list_and_local = list_mask | local;
inline constexpr std::uint64_t kept_back = 1u << 8; // its stamp is a kept_stamp
inline constexpr std::uint64_t late_age = 1u << 9; // its age begins, or has begun, when the limit lets it become active
inline constexpr unsigned id_shift = 10;

constexpr unsigned color_of(std::uint64_t p) noexcept { return static_cast<unsigned>((p & color_mask) >> color_shift); }
constexpr std::uint64_t with_list(std::uint64_t p, std::uint64_t list) noexcept { return (p & ~list_mask) | list; }
} // namespace location

/// The result of an attempt to claim PENDING.
enum class claim_result : unsigned char { claimed, already_pending, disabled };

/// Static functions only. Each states which order and which owner it needs.
struct work_access {
    using function = work_base::function;

    /// Tries to set PENDING. [PEND-1] A read-modify-write also if PENDING is set: acq_rel, pairs [PEND-2]. A caller
    /// that loses has still published its writes: the operation that clears PENDING reads from this one, so the
    /// following run sees them. The word of a disabled item is not changed, so no thread ever sees a disabled item
    /// become pending.
    static claim_result claim(work_base& w) noexcept {
        std::uint32_t seen = w.state_.load(relaxed);
        do {
            if ((seen & work_base::depth_mask) != 0) return claim_result::disabled;
        } while (!w.state_.compare_exchange_weak(seen, seen | work_base::pending_bit, acq_rel, relaxed));
        return (seen & work_base::pending_bit) == 0 ? claim_result::claimed : claim_result::already_pending;
    }

    /// [PEND-2] acq_rel, pairs [PEND-1]. A worker calls this before it calls the item's function; a caller that has
    /// cancelled the item calls it, too.
    static void clear_pending(work_base& w) noexcept { w.state_.fetch_and(~work_base::pending_bit, acq_rel); }

    /// [PEND-3] acquire, pairs [PEND-2]: a caller that finds PENDING cleared sees the writes before that.
    static bool pending(const work_base& w) noexcept { return (w.state_.load(acquire) & work_base::pending_bit) != 0; }
    static bool is_delayed(const work_base& w) noexcept { // a constant of the item
        return (w.state_.load(relaxed) & work_base::delayed_bit) != 0;
    }

    /// Increments the disable depth. [UNIFORM] False: it has its maximum, and was not changed.
    static bool raise_depth(work_base& w) noexcept {
        std::uint32_t seen = w.state_.load(relaxed);
        do {
            if ((seen & work_base::depth_mask) == work_base::depth_mask) return false;
        } while (!w.state_.compare_exchange_weak(seen, seen + work_base::depth_one, acq_rel, relaxed));
        return true;
    }

    enum class lowered : unsigned char { enabled, still_disabled, was_not_disabled };

    /// Decrements the disable depth. [DEPTH-1] acq_rel, pairs [PEND-1]: the run that follows a later claim sees the
    /// writes of the caller before this call.
    static lowered lower_depth(work_base& w) noexcept {
        std::uint32_t seen = w.state_.load(relaxed);
        do {
            if ((seen & work_base::depth_mask) == 0) return lowered::was_not_disabled;
        } while (!w.state_.compare_exchange_weak(seen, seen - work_base::depth_one, acq_rel, relaxed));
        return (seen & work_base::depth_mask) == work_base::depth_one ? lowered::enabled : lowered::still_disabled;
    }

    static std::uint64_t location_of(const work_base& w) noexcept { return w.location_.load(relaxed); }
    static void set_location(work_base& w, std::uint64_t p) noexcept { w.location_.store(p, relaxed); }
    static std::uint64_t pool_id(std::uint64_t p) noexcept { return p >> location::id_shift; }

    static pool_workqueue* pwq(const work_base& w) noexcept { return w.pwq_; }
    static void set_pwq(work_base& w, pool_workqueue* p) noexcept { w.pwq_ = p; }
    static std::uint32_t queued_at(const work_base& w) noexcept { return w.queued_at_; }
    static void set_queued_at(work_base& w, std::uint32_t stamp) noexcept { w.queued_at_ = stamp; }
    static function run(const work_base& w) noexcept { return w.run_; }

    /// Called in a forked child for an item that was pending in the parent: resets its links and its location, because
    /// it is on no list in the child.
    static void abandon(work_base& w) noexcept {
        if (is_delayed(w)) {
            work_timer& t = timer(w);
            static_cast<list_node<timer_tag>&>(t) = {};
            t.armed_in.store(0, relaxed);
        }
        static_cast<item_node&>(w) = {};
        w.location_.store(0, relaxed);
    }

    static bool is_self_owned(const work_base& w) noexcept { // a constant of the item
        return (w.state_.load(relaxed) & work_base::self_owned_bit) != 0;
    }
    static bool is_task(const work_base& w) noexcept { // a constant of the item: it is a group_task
        return (w.state_.load(relaxed) & work_base::task_bit) != 0;
    }
    /// Destroys a pending item that owns itself, without running it.
    static void drop(work_base& w) noexcept {
        auto& owned = static_cast<self_owned_work&>(w);
        owned.drop_(owned);
    }

    static work_timer& timer(work_base& w) noexcept { return static_cast<delayed_work_base&>(w).timer_; }
};

}}} // namespace cmwq::CMWQ_NS::detail
