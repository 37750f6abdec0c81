// SPDX-License-Identifier: BSL-1.0
//
// blocking_region: announces that the calling work item blocks. The header is cheap to include in a leaf library.
#pragma once

#include <cmwq/detail/sync/this_thread.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

/// The property that a `blocking_region` states about the call which it surrounds.
enum class block_kind : unsigned char {
    may_block,  ///< it may return at once: the item counts as blocked after `runtime_options::may_block_threshold`
    will_block, ///< it is going to sleep: the item counts as blocked at once
};

/// Short for `block_kind::may_block`.
inline constexpr block_kind may_block = block_kind::may_block;
/// Short for `block_kind::will_block`.
inline constexpr block_kind will_block = block_kind::will_block;

namespace detail {

/// Receives the calls of a blocking_region. The observer is the worker of the calling thread; only that thread calls
/// it.
class blocking_observer {
public:
    virtual void begin_blocking(block_kind kind) noexcept = 0;
    virtual void upgrade_blocking() noexcept = 0;
    virtual void end_blocking() noexcept = 0;

    block_kind region = block_kind::may_block; ///< kind of the outermost region, if depth > 0
    unsigned depth = 0;                        ///< how many regions are open

protected:
    ~blocking_observer() = default;
};

} // namespace detail

/// Makes the calling item count as blocked while the region lives. With `will_block` the pool starts the next item at
/// once; it does not have to notice by itself that the item blocks. When the region ends the item counts as running
/// again.
///
/// Regions nest. The outermost one counts; an inner `will_block` turns an outer `may_block` into `will_block` until the
/// outermost one ends. Outside of a worker a region does nothing, at the cost of two loads. In a bottom half, which
/// must not block, a region ends the program with a diagnosis.
///
/// Thread safety: a region belongs to the thread that made it. Ordering: none. Blocks: no. Errors: none, never throws.
///
///     { cmwq::blocking_region io; ::fdatasync(fd); }
class blocking_region {
public:
    /// Begins the region.
    [[nodiscard]] explicit blocking_region(block_kind kind = will_block) noexcept
        : observer_(detail::this_thread_slots().observer) {
        if (observer_ == nullptr) return;
        if (observer_->depth++ == 0) {
            observer_->region = kind;
            observer_->begin_blocking(kind);
        } else if (kind == will_block && observer_->region == may_block) {
            observer_->region = will_block;
            observer_->upgrade_blocking();
        }
    }

    /// Ends the region.
    ~blocking_region() {
        if (observer_ != nullptr && --observer_->depth == 0) observer_->end_blocking();
    }

    blocking_region(const blocking_region&) = delete;
    blocking_region& operator=(const blocking_region&) = delete;

private:
    detail::blocking_observer* observer_;
};

/// Calls `f()` inside a `blocking_region` of the kind `will_block` and returns its result. Thread safety: any thread.
/// Errors: an exception that `f` throws.
///
///     const int r = cmwq::blocking([&] { return ::fsync(fd); });
template <class F>
decltype(auto) blocking(F&& f) {
    const blocking_region region{will_block};
    return std::forward<F>(f)();
}

/// Calls `f()` inside a `blocking_region` of the given kind and returns its result. Thread safety: any thread.
/// Errors: an exception that `f` throws.
template <class F>
decltype(auto) blocking(block_kind kind, F&& f) {
    const blocking_region region{kind};
    return std::forward<F>(f)();
}

}} // namespace cmwq::CMWQ_NS
