// SPDX-License-Identifier: BSL-1.0
//
// grace_counts: the protocol of a grace period. Another object owns the counters.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The counters of a stripe, on a cache line of their own.
struct alignas(cache_line) grace_stripe {
    atomic<unsigned> inside[2]{};
};

/// A reader. A value that it reads between enter() and leave() is not freed before leave(). Belongs to one thread.
class grace_reader {
public:
    grace_reader() noexcept = default;
    template <class Counts>
    grace_reader(Counts& g, unsigned stripe) noexcept {
        enter(g, stripe);
    }
    grace_reader(grace_reader&& other) noexcept : inside_(other.inside_) { other.inside_ = nullptr; }
    grace_reader& operator=(grace_reader&&) = delete;
    ~grace_reader() { leave(); }

    /// Counts the reader in. It must not be inside.
    template <class Counts>
    void enter(Counts& g, unsigned stripe) noexcept {
        inside_ = &g.stripes_[stripe].inside[g.turn_.load(relaxed)];
        // [GRACE-1] The reader counts itself in, then reads the published value; pairs [GRACE-2]: the writer publishes,
        // then reads the counts. All are seq_cst: the writer sees the reader, or the reader sees the new value.
        inside_->fetch_add(1, seq_cst);
    }
    /// Counts the reader out, if it is inside.
    CMWQ_HOT_INLINE void leave() noexcept {
        if (inside_ != nullptr) inside_->fetch_sub(1, release); // [GRACE-3] pairs the acquire in wait()
        inside_ = nullptr;
    }

private:
    atomic<unsigned>* inside_ = nullptr;
};

/// Readers count themselves in and out. They use one of several stripes, so that they do not share a cache line, and
/// they never wait. The writer publishes the new value first, then waits for the readers that may have read the old
/// one. `Stripe` is like grace_stripe, and may have more members.
///
/// A stripe has two counters, used in turns. While the writer waits for one counter to reach zero, new readers use the
/// other one, so the writer waits only for readers that are inside already. A reader may have read the turn long before
/// it counts itself in, and then be on either counter. Therefore the writer waits for both.
template <class Stripe>
class basic_grace_counts {
public:
    using stripe = Stripe;
    using reader = grace_reader;

    constexpr basic_grace_counts(stripe* stripes, unsigned nr_stripes) noexcept : stripes_(stripes), nr_(nr_stripes) {}
    basic_grace_counts(const basic_grace_counts&) = delete;
    basic_grace_counts& operator=(const basic_grace_counts&) = delete;

    [[nodiscard]] stripe& at(unsigned i) noexcept { return stripes_[i]; }

    /// A wait, as far as it has come.
    class progress {
        friend basic_grace_counts;
        unsigned nr_turns = 0; // begun
        unsigned stripe = 0;   // of the present turn: those before are empty
    };

    /// Returns when all readers have left that may have read a value older than the caller's last seq_cst store. One
    /// thread at a time may call it, and that thread must not be inside as a reader. No other wait is in progress.
    void wait() noexcept {
        progress p;
        for (backoff b; !try_wait(p);) b.pause();
    }
    /// A step of such a wait, which does not block. True: all of them have left. False: `p` goes on with the next call.
    [[nodiscard]] bool try_wait(progress& p) noexcept {
        for (;;) {
            if (p.nr_turns == 0 || p.stripe == nr_) {
                if (p.nr_turns == 2) return true;
                turn_.store(1 - turn_.load(relaxed), relaxed);
                ++p.nr_turns;
                p.stripe = 0;
            }
            const unsigned before = 1 - turn_.load(relaxed);
            for (; p.stripe < nr_; ++p.stripe) {
                if (stripes_[p.stripe].inside[before].load(seq_cst) != 0) return false; // [GRACE-2], [GRACE-3]
            }
        }
    }

    /// Called in a forked child. The readers of the parent do not exist there, and the only thread is no reader.
    void forget_readers() noexcept {
        for (unsigned s = 0; s < nr_; ++s) {
            for (atomic<unsigned>& n : stripes_[s].inside) n.store(0, relaxed);
        }
    }

private:
    friend class grace_reader;

    stripe* stripes_;
    unsigned nr_;
    atomic<unsigned> turn_{0};
};

using grace_counts = basic_grace_counts<grace_stripe>;

}}} // namespace cmwq::CMWQ_NS::detail
