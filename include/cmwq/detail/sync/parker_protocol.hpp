// SPDX-License-Identifier: BSL-1.0
//
// The protocol of a parker, as a template over the futex: the futex of the system, or a model of it in a search.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A binary permit: `unpark()` gives it; `park()` sleeps until there is one, and takes it. A permit that is given
/// before the owner parks is not lost. Two permits count as one.
///
/// Ordering: an `unpark()` happens before the return of the `park()` that takes its permit.
/// Lifetime: `unpark()` does not read or write the object after the permit is visible, so the owner may destroy the
/// parker as soon as it has taken the permit (a wake on a futex word that is gone wakes no thread).
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

    /// Owner only. `deadline` is in nanoseconds of `steady_now()`. False: the deadline has passed without a permit.
    bool park_until(std::int64_t deadline) noexcept {
        while (!take_or_announce()) {
            if (!Futex::wait_until(word_, sleeping, deadline)) {
                return word_.exchange(none, seq_cst) == permit; // [PARK-2]
            }
        }
        return true;
    }

    /// Owner only. Whether the next `park()` returns at once. A hint: that call takes the permit, with its order.
    [[nodiscard]] bool has_permit() const noexcept { return word_.load(relaxed) == permit; }

    /// Any thread.
    void unpark() noexcept {
        // [PARK-1] release, pairs [PARK-2]: the permit publishes the giver's writes before it.
        if (word_.exchange(permit, acq_rel) == sleeping) Futex::wake_one(word_);
    }

    /// Any thread. As unpark(), but only a load if there is a permit that the owner has not taken yet: the owner will
    /// check for messages after it has taken it. Only for messages that are written and read by seq_cst operations.
    void remind() noexcept {
        // [PARK-3] This thread writes the message, then reads the permit. The owner takes the permit, then reads the
        // message. All are seq_cst: either the owner sees the message, or this thread sees that the permit is gone.
        if (word_.load(seq_cst) != permit) unpark();
    }

private:
    static constexpr std::uint32_t none = 0, permit = 1, sleeping = 2;

    // True: there was a permit, and it is taken. False: the word now says that the owner sleeps, or is about to.
    bool take_or_announce() noexcept {
        std::uint32_t seen = none;
        // [PARK-2] As below.
        if (word_.compare_exchange_strong(seen, sleeping, acq_rel, acquire) || seen == sleeping) return false;
        // [PARK-2] acquire, pairs [PARK-1]. A read-modify-write: if a second permit arrives between the two steps, it
        // is taken together with the first, and the writes of its giver must be acquired as well. seq_cst: [PARK-3].
        word_.exchange(none, seq_cst);
        return true;
    }

    atomic<std::uint32_t> word_{none};
};

}}} // namespace cmwq::CMWQ_NS::detail
