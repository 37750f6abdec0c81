// SPDX-License-Identifier: BSL-1.0
//
// grace_counts: the protocol of a grace period, over counters that somebody else owns.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>

namespace cmwq::inline CMWQ_NS::detail {

/// Readers count themselves in and out, on one of several stripes so that they do not share a cache line. They never
/// wait. The writer publishes the new value first, then waits for those who may have read the old one.
///
/// Two counters a stripe, used in turns: new readers go to the other one while the writer waits for this one to reach
/// zero, so that it waits for those only who are inside already. A reader that took its turn long ago and counts itself
/// in only now may be on either counter, hence both turns are waited for.
class grace_counts {
public:
    struct alignas(cache_line) stripe {
        atomic<unsigned> inside[2]{};
    };

    constexpr grace_counts(stripe* stripes, unsigned nr_stripes) noexcept : stripes_(stripes), nr_(nr_stripes) {}
    grace_counts(const grace_counts&) = delete;
    grace_counts& operator=(const grace_counts&) = delete;

    /// Between its construction and its end nothing is freed that was published when it was made.
    class reader {
    public:
        reader() noexcept = default;
        reader(grace_counts& g, unsigned stripe) noexcept { enter(g, stripe); }
        reader(reader&& other) noexcept : inside_(other.inside_) { other.inside_ = nullptr; }
        reader& operator=(reader&&) = delete;
        ~reader() { leave(); }

        /// It begins here; it is not inside.
        void enter(grace_counts& g, unsigned stripe) noexcept {
            inside_ = &g.stripes_[stripe].inside[g.turn_.load(relaxed)];
            // [GRACE-1] counted in, then the look at what is published; pairs [GRACE-2], published, then the look at
            // the counts. All seq_cst: the writer sees the reader, or the reader sees the new value.
            inside_->fetch_add(1, seq_cst);
        }
        /// It ends here.
        void leave() noexcept {
            if (inside_ != nullptr) inside_->fetch_sub(1, release); // [GRACE-3] pairs the acquire below
            inside_ = nullptr;
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

    /// In a forked child, whose only thread is no reader: those that were are not there.
    void forget_readers() noexcept {
        for (unsigned s = 0; s < nr_; ++s) {
            for (atomic<unsigned>& n : stripes_[s].inside) n.store(0, relaxed);
        }
    }

private:
    stripe* stripes_;
    unsigned nr_;
    atomic<unsigned> turn_{0};
};

} // namespace cmwq::inline CMWQ_NS::detail
