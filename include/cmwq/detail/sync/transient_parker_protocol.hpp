// SPDX-License-Identifier: BSL-1.0
//
// The protocol of a transient_parker, as a template over the futex.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As basic_parker, with another lifetime: `unpark()` does not read or write the object after the permit is visible, so
/// the owner may destroy it as soon as it has taken the permit (a wake on a futex word that is gone wakes no thread). In
/// return the owner depends on the one thread that gives the permit: if that loses its CPU in the middle, the owner waits.
template <class Futex>
class basic_transient_parker {
public:
    basic_transient_parker() noexcept = default;
    basic_transient_parker(const basic_transient_parker&) = delete;
    basic_transient_parker& operator=(const basic_transient_parker&) = delete;

    /// Owner only.
    void park() noexcept {
        while (!take_or_announce()) Futex::wait(word_, sleeping);
    }

    /// Owner only. `deadline` is in nanoseconds of `steady_now()`. False: the deadline has passed without a permit.
    bool park_until(std::int64_t deadline) noexcept {
        while (!take_or_announce()) {
            if (!Futex::wait_until(word_, sleeping, deadline)) {
                return word_.exchange(none, acq_rel) == permit; // [PARK-2]
            }
        }
        return true;
    }

    /// Any thread.
    void unpark() noexcept {
        // [PARK-1] release, pairs [PARK-2]: the permit publishes the giver's writes before it.
        if (word_.exchange(permit, acq_rel) == sleeping) Futex::wake_one(word_);
    }

private:
    static constexpr std::uint32_t none = 0, permit = 1, sleeping = 2;

    // True: there was a permit, and it is taken. False: the word now says that the owner sleeps, or is about to.
    bool take_or_announce() noexcept {
        std::uint32_t seen = none;
        // [PARK-2] As below.
        if (word_.compare_exchange_strong(seen, sleeping, acq_rel, acquire) || seen == sleeping) return false;
        word_.exchange(none, acq_rel); // [PARK-2] acquire, pairs [PARK-1], also of a second giver meanwhile
        return true;
    }

    atomic<std::uint32_t> word_{none};
};

}}} // namespace cmwq::CMWQ_NS::detail
