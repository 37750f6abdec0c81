// SPDX-License-Identifier: BSL-1.0
//
// Announcing that the calling work item blocks. A leaf library can include this for next to nothing.
#pragma once

#include <cmwq/detail/sync/this_thread.hpp>

#include <utility>

namespace cmwq::inline CMWQ_NS {

/// What a `blocking_region` knows about the call that it surrounds.
enum class block_kind : unsigned char {
    may_block,  ///< it may return at once: counts as blocked when it lasts longer than the runtime's threshold
    will_block, ///< it is going to sleep: counts as blocked at once
};

inline constexpr block_kind may_block = block_kind::may_block;
inline constexpr block_kind will_block = block_kind::will_block;

namespace detail {

/// Whom a blocking_region tells. The observer is the worker of the calling thread and is called only by it.
class blocking_observer {
public:
    virtual void begin_blocking(block_kind kind) noexcept = 0;
    virtual void upgrade_blocking() noexcept = 0;
    virtual void end_blocking() noexcept = 0;

    block_kind current = block_kind::may_block; ///< kind of the outermost region, if depth > 0
    unsigned depth = 0;                         ///< how many regions are open

protected:
    ~blocking_observer() = default;
};

} // namespace detail

/// While one of these lives, the item that made it counts as blocked: the pool starts the next item at once, without
/// waiting to notice by itself. When it ends the item counts as running again.
///
/// Regions nest; the outermost counts, and an inner `will_block` turns an outer `may_block` into one until the
/// outermost ends. Outside a worker a region does nothing and costs about a nanosecond.
///
/// Thread safety: belongs to the thread that made it. Ordering: none. Blocks: no. Errors: none, never throws.
///
///     { cmwq::blocking_region io; ::fdatasync(fd); }
class blocking_region {
public:
    [[nodiscard]] explicit blocking_region(block_kind kind = will_block) noexcept
        : observer_(detail::this_thread_slots().observer) {
        if (observer_ == nullptr) return;
        if (observer_->depth++ == 0) {
            observer_->current = kind;
            observer_->begin_blocking(kind);
        } else if (kind == will_block && observer_->current == may_block) {
            observer_->current = will_block;
            observer_->upgrade_blocking();
        }
    }

    ~blocking_region() {
        if (observer_ != nullptr && --observer_->depth == 0) observer_->end_blocking();
    }

    blocking_region(const blocking_region&) = delete;
    blocking_region& operator=(const blocking_region&) = delete;

private:
    detail::blocking_observer* observer_;
};

/// Calls `f()` inside a `blocking_region` and returns what it returns.
///
///     const int r = cmwq::blocking([&] { return ::fsync(fd); });
template <class F>
decltype(auto) blocking(F&& f) {
    const blocking_region region{will_block};
    return std::forward<F>(f)();
}

/// The same with the kind said.
template <class F>
decltype(auto) blocking(block_kind kind, F&& f) {
    const blocking_region region{kind};
    return std::forward<F>(f)();
}

} // namespace cmwq::inline CMWQ_NS
