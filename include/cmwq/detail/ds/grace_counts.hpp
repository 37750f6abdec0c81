// SPDX-License-Identifier: BSL-1.0
//
// grace_counts: the protocol of a grace period. Another object owns the counters.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/backoff.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Readers count themselves in and out. They use one of several stripes, so that they do not share a cache line, and
/// they never wait. The writer publishes the new value first, then waits for the readers that may have read the old
/// one.
///
/// A stripe has two counters, used in turns. While the writer waits for one counter to reach zero, new readers use the
/// other one, so the writer waits only for readers that are inside already. A reader may have read the turn long before
/// it counts itself in, and then be on either counter. Therefore the writer waits for both.
class grace_counts {
public:
    struct alignas(cache_line) stripe {
        atomic<unsigned> inside[2]{};
    };

    constexpr grace_counts(stripe* stripes, unsigned nr_stripes) noexcept : stripes_(stripes), nr_(nr_stripes) {}
    grace_counts(const grace_counts&) = delete;
    grace_counts& operator=(const grace_counts&) = delete;

    /// A reader. A value that it reads between enter() and leave() is not freed before leave(). Belongs to one thread.
    class reader {
    public:
        reader() noexcept = default;
        reader(grace_counts& g, unsigned stripe) noexcept { enter(g, stripe); }
        reader(reader&& other) noexcept : inside_(other.inside_) { other.inside_ = nullptr; }
        reader& operator=(reader&&) = delete;
        ~reader() { leave(); }

        /// Counts the reader in. It must not be inside.
        void enter(grace_counts& g, unsigned stripe) noexcept {
            inside_ = &g.stripes_[stripe].inside[g.turn_.load(relaxed)];
            // [GRACE-1] The reader counts itself in, then reads the published value; pairs [GRACE-2]: the writer
            // publishes, then reads the counts. All are seq_cst: the writer sees the reader, or the reader sees the new
            // value.
            inside_->fetch_add(1, seq_cst);
        }
        /// Counts the reader out, if it is inside.
        void leave() noexcept {
            if (inside_ != nullptr) inside_->fetch_sub(1, release); // [GRACE-3] pairs the acquire below
            inside_ = nullptr;
        }

    private:
        atomic<unsigned>* inside_ = nullptr;
    };

    /// Returns when all readers have left that may have read a value older than the caller's last seq_cst store. One
    /// thread at a time may call it, and that thread must not be inside as a reader.
    void wait() noexcept {
        for (int i = 0; i < 2; ++i) {
            const unsigned turn = turn_.load(relaxed);
            turn_.store(1 - turn, relaxed);
            for (unsigned s = 0; s < nr_; ++s) {
                for (backoff b; stripes_[s].inside[turn].load(seq_cst) != 0;) b.pause(); // [GRACE-2], [GRACE-3]
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
    stripe* stripes_;
    unsigned nr_;
    atomic<unsigned> turn_{0};
};

}}} // namespace cmwq::CMWQ_NS::detail
