// SPDX-License-Identifier: BSL-1.0
//
// grace_period: lets one thread replace what others are just reading, and wait until nobody reads the old one.
#pragma once

#include <cmwq/detail/sync/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>

#include <memory>

namespace cmwq::inline CMWQ_NS::detail {

/// Readers count themselves in and out, on one of several stripes so that they do not share a cache line. They never
/// wait. The writer publishes the new value first, then waits for those who may have read the old one.
///
/// Two counters a stripe, used in turns: new readers go to the other one while the writer waits for this one to reach
/// zero, so that it waits for those only who are inside already. A reader that took its turn long ago and counts itself
/// in only now may be on either counter, hence both turns are waited for.
class grace_period {
    struct alignas(cache_line) stripe {
        atomic<unsigned> inside[2]{};
    };

public:
    explicit grace_period(unsigned nr_stripes) : stripes_(std::make_unique<stripe[]>(nr_stripes)), nr_(nr_stripes) {}
    grace_period(const grace_period&) = delete;
    grace_period& operator=(const grace_period&) = delete;

    /// Between its construction and its end nothing is freed that was published when it was made.
    class reader {
    public:
        reader() noexcept = default;
        reader(grace_period& g, unsigned stripe) noexcept : inside_(&g.stripes_[stripe].inside[g.turn_.load(relaxed)]) {
            // [GRACE-1] counted in, then the look at what is published; pairs [GRACE-2], published, then the look at
            // the counts. All seq_cst: the writer sees the reader, or the reader sees the new value.
            inside_->fetch_add(1, seq_cst);
        }
        reader(reader&& other) noexcept : inside_(other.inside_) { other.inside_ = nullptr; }
        reader& operator=(reader&&) = delete;
        ~reader() {
            if (inside_ != nullptr) inside_->fetch_sub(1, release); // [GRACE-3] pairs the acquire below
        }

    private:
        atomic<unsigned>* inside_ = nullptr;
    };

    /// Returns when every reader has gone that may have seen what was published before the caller's last seq_cst store.
    /// One thread at a time, and not a reader itself.
    void wait() noexcept {
        for (int i = 0; i < 2; ++i) {
            const unsigned turn = turn_.load(relaxed);
            turn_.store(1 - turn, relaxed);
            for (unsigned s = 0; s < nr_; ++s) {
                for (backoff b; stripes_[s].inside[turn].load(seq_cst) != 0;) b.pause(); // [GRACE-2], [GRACE-3]
            }
        }
    }

private:
    std::unique_ptr<stripe[]> stripes_;
    unsigned nr_;
    atomic<unsigned> turn_{0};
};

} // namespace cmwq::inline CMWQ_NS::detail
