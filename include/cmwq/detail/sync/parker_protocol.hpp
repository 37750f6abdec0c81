// SPDX-License-Identifier: BSL-1.0
//
// The protocol of a parker, as a template over the futex: the futex of the system, or a model of it in a search.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// How long a parker lives.
enum class parker_lifetime : bool {
    /// It outlives every call of `unpark()`. A thread that loses its CPU in the middle of such a call delays nobody:
    /// until
    /// it has woken the owner, the word says so, and every other thread wakes the owner as well.
    outlives_calls,
    /// The owner may destroy it as soon as it has taken the permit: `unpark()` does not read or write the object after
    /// the
    /// permit is visible (a wake on a futex word that is gone wakes no thread). In return the owner depends on the one
    /// thread that gives the permit: if that loses its CPU in the middle, the owner waits.
    one_wait,
};

/// A binary permit: `unpark()` gives it; `park()` sleeps until there is one, and takes it. A permit that is given
/// before the owner parks is not lost. Two permits count as one.
///
/// Ordering: an `unpark()` happens before the return of the `park()` that takes its permit.
template <class Futex, parker_lifetime Lifetime = parker_lifetime::outlives_calls>
class basic_parker {
public:
    basic_parker() noexcept = default;
    basic_parker(const basic_parker&) = delete;
    basic_parker& operator=(const basic_parker&) = delete;

    /// Owner only.
    void park() noexcept {
        while (!take_or_announce()) Futex::wait(word_, asleep_);
    }

    /// Owner only. `deadline` is in nanoseconds of `steady_now()`. False: the deadline has passed without a permit.
    bool park_until(std::int64_t deadline) noexcept {
        while (!take_or_announce()) {
            if (!Futex::wait_until(word_, asleep_, deadline)) {
                return is_given(word_.exchange(none, seq_cst)); // [PARK-2]
            }
        }
        return true;
    }

    /// Owner only. Whether the next `park()` returns at once. A hint: that call takes the permit, with its order.
    [[nodiscard]] bool has_permit() const noexcept { return is_given(word_.load(relaxed)); }

    /// Any thread.
    void unpark() noexcept {
        // [PARK-1] release, pairs [PARK-2]: the permit publishes the giver's writes before it.
        if constexpr (Lifetime == parker_lifetime::one_wait) {
            if (is_asleep(word_.exchange(permit, acq_rel))) Futex::wake_one(word_); // [PARK-1]
        } else {
            std::uint32_t seen = word_.load(relaxed), next = 0;
            do {
                next = is_asleep(seen) ? seen | given : permit;
            } while (!word_.compare_exchange_weak(seen, next, acq_rel, relaxed)); // [PARK-1]
            if (next == permit) return;
            Futex::wake_one(word_);
            // The owner is awake, so others need not wake it. Unless it has gone on and sleeps again: then the word
            // differs.
            word_.compare_exchange_strong(next, permit, relaxed,
                                          relaxed); // continues the release sequence of the permit
        }
    }

    /// Any thread. As unpark(), but only a load if there is a permit that the owner has not taken yet: the owner will
    /// check for messages after it has taken it. Only for messages that are written and read by seq_cst operations.
    void remind() noexcept
        requires(Lifetime == parker_lifetime::outlives_calls)
    {
        // [PARK-3] This thread writes the message, then reads the permit. The owner takes the permit, then reads the
        // message. All are seq_cst: either the owner sees the message, or this thread sees that the permit is gone.
        if (word_.load(seq_cst) != permit) unpark();
    }

private:
    // Bit 0: there is a permit. Bit 1: the owner sleeps, or is about to, and if there is a permit, a thread that has
    // seen that has not woken it yet. The other bits are the number of that sleep: a thread that comes late must not
    // mistake the next sleep for the one that it has ended.
    static constexpr std::uint32_t none = 0, given = 1, permit = given, asleep = 2, one_sleep = 4;

    static constexpr bool is_given(std::uint32_t word) noexcept { return (word & given) != 0; }
    static constexpr bool is_asleep(std::uint32_t word) noexcept { return (word & asleep) != 0; }

    // True: there was a permit, and it is taken. False: the word now says that the owner sleeps, or is about to.
    bool take_or_announce() noexcept {
        std::uint32_t seen = none;
        // [PARK-2] As below.
        if (word_.compare_exchange_strong(seen, (asleep_ + one_sleep) | asleep, acq_rel, acquire)) {
            asleep_ = (asleep_ + one_sleep) | asleep;
            return false;
        }
        if (!is_given(seen)) return false; // it has been woken for no reason
        // [PARK-2] acquire, pairs [PARK-1]. A read-modify-write: if a second permit arrives between the two steps, it
        // is taken together with the first, and the writes of its giver must be acquired as well. seq_cst: [PARK-3].
        word_.exchange(none, seq_cst);
        return true;
    }

    atomic<std::uint32_t> word_{none};
    std::uint32_t asleep_ = asleep; // the owner's: the word during its last sleep
};

}}} // namespace cmwq::CMWQ_NS::detail
