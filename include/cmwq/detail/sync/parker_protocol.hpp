// SPDX-License-Identifier: BSL-1.0
//
// The protocol of a parker, over whatever waits on a word: the system's futexes, or a model of them in a search.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

/// A binary permit: `unpark()` gives it, `park()` takes it and sleeps until there is one. A permit given before the
/// owner parks is not lost, and two permits are one.
///
/// Ordering: what happened before `unpark()` happens before the return of the `park()` that took its permit.
/// Lifetime: `unpark()` does not read or write the object after the permit can be seen, so the owner may destroy the
/// parker as soon as it holds the permit (waking a futex word that is gone wakes nobody).
template <class Futex>
class basic_parker {
public:
    basic_parker() noexcept = default;
    basic_parker(const basic_parker&) = delete;
    basic_parker& operator=(const basic_parker&) = delete;

    /// Owner only.
    void park() noexcept {
        while (!take_or_announce()) Futex::wait(word_, sleeping);
    }

    /// Owner only. `deadline` is in nanoseconds of `steady_now()`. False: it passed without a permit.
    bool park_until(std::int64_t deadline) noexcept {
        while (!take_or_announce()) {
            if (!Futex::wait_until(word_, sleeping, deadline)) {
                return word_.exchange(none, seq_cst) == permit; // [PARK-2]
            }
        }
        return true;
    }

    /// Any thread.
    void unpark() noexcept {
        // [PARK-1] release, pairs [PARK-2]: the permit carries what its giver did before.
        if (word_.exchange(permit, acq_rel) == sleeping) Futex::wake_one(word_);
    }

    /// Any thread. The same, but a load is all if a permit is there that the owner has not taken: it is going to look.
    /// For messages that are written and looked for by seq_cst operations.
    void remind() noexcept {
        // [PARK-3] The message, then the look at the permit; pairs the owner, who takes the permit and then looks for the
        // message. All seq_cst: the owner sees the message, or its permit is seen to be gone.
        if (word_.load(seq_cst) != permit) unpark();
    }

private:
    static constexpr std::uint32_t none = 0, permit = 1, sleeping = 2;

    // True: a permit was there and is taken. False: the word says that the owner sleeps, or is about to.
    bool take_or_announce() noexcept {
        std::uint32_t seen = none;
        // [PARK-2], as below.
        if (word_.compare_exchange_strong(seen, sleeping, acq_rel, acquire) || seen == sleeping) return false;
        // [PARK-2] acquire, pairs [PARK-1]. A read-modify-write: a second permit that arrives between the two steps is
        // taken together with the first, and so must be what its giver did before. seq_cst: [PARK-3].
        word_.exchange(none, seq_cst);
        return true;
    }

    atomic<std::uint32_t> word_{none};
};

} // namespace cmwq::inline CMWQ_NS::detail
