// SPDX-License-Identifier: BSL-1.0
//
// tick_clock: the time by which pools compare how long items have waited. Reading it costs a load, and no clock.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <cstdint>
#include <limits>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// When an item was queued. In units of 1.024 microseconds; after 73 minutes it begins again. Bit 0: it is exact,
/// because the wait of the item is measured; otherwise it is the time of the last tick before. Never 0.
using wait_stamp = std::uint32_t;

constexpr wait_stamp exact_bit = 1;
constexpr bool is_exact(wait_stamp s) noexcept { return (s & exact_bit) != 0; }
constexpr wait_stamp exact_stamp(std::int64_t now) noexcept { return static_cast<wait_stamp>(now >> 10) | exact_bit; }
constexpr wait_stamp stamp_of_tick(std::int64_t now) noexcept {
    const wait_stamp s = static_cast<wait_stamp>(now >> 10) & ~exact_bit;
    return s != 0 ? s : 2;
}

/// Compares stamps at one moment.
///
/// A stamp does not say how old it is: the clock stands still while the service thread sleeps, and begins again after
/// 73 minutes. So a stamp from outside of the time since the service thread has woken up counts as that moment. No item
/// looks older than it is, or as if it came from the future. But one that has waited for more than half an hour looks
/// younger: by then it is the oldest one nevertheless, unless others have waited for as long.
class ages {
public:
    /// A place on the scale: the smaller, the older.
    using place = std::uint32_t;
    static constexpr place none = std::numeric_limits<place>::max();

    constexpr ages(wait_stamp least, wait_stamp now) noexcept : least_(least), now_(now - least) {}

    [[nodiscard]] constexpr place of(wait_stamp s) const noexcept {
        constexpr place a_second = 1'000'000; // an exact stamp may be younger than the last tick
        const place p = s - least_;
        return p <= now_ + a_second ? p : 0;
    }
    /// Whether an item at that place has waited for `time`, in units of a stamp. `none` is no item.
    [[nodiscard]] constexpr bool is_older(place p, wait_stamp time) const noexcept {
        return p < now_ && now_ - p >= time;
    }
    /// How long an item at that place has waited, in nanoseconds.
    [[nodiscard]] constexpr std::int64_t time_since(place p) const noexcept {
        return p < now_ ? std::int64_t{now_ - p} << 10 : 0;
    }
    /// The place of an item that has waited for `time`, in units of a stamp, or of the oldest one possible.
    [[nodiscard]] constexpr place before(wait_stamp time) const noexcept { return now_ > time ? now_ - time : 0; }
    [[nodiscard]] constexpr wait_stamp stamp_at(place p) const noexcept {
        const wait_stamp s = least_ + p;
        return s != 0 ? s : 1;
    }

private:
    wait_stamp least_;
    place now_;
};

/// Any thread may read it. The service thread writes it. Relaxed: a thread that reads an old value makes an item look
/// older by that, and no other data depends on it.
class tick_clock {
public:
    tick_clock() noexcept = default;
    tick_clock(const tick_clock&) = delete;
    tick_clock& operator=(const tick_clock&) = delete;

    [[nodiscard]] wait_stamp now() const noexcept { return static_cast<wait_stamp>(both_.load(relaxed)); }
    /// The stamp of the time `time` before, in units of a stamp.
    [[nodiscard]] wait_stamp before(wait_stamp time) const noexcept {
        const wait_stamp s = (now() - time) & ~exact_bit;
        return s != 0 ? s : 2;
    }
    [[nodiscard]] ages compare() const noexcept {
        const std::uint64_t both = both_.load(relaxed);
        return {static_cast<wait_stamp>(both >> 32), static_cast<wait_stamp>(both)};
    }

    /// The service thread wakes up. Times are of the steady clock, in nanoseconds.
    void begin(std::int64_t now) noexcept { set(stamp_of_tick(now), stamp_of_tick(now)); }
    /// It is awake.
    void tick(std::int64_t now) noexcept {
        constexpr wait_stamp longest = 1u << 31; // half of the time after which stamps begin again
        const auto least = static_cast<wait_stamp>(both_.load(relaxed) >> 32);
        const wait_stamp s = stamp_of_tick(now);
        set(s - least < longest ? least : s - longest, s);
    }

private:
    void set(wait_stamp least, wait_stamp now) noexcept { both_.store(std::uint64_t{least} << 32 | now, relaxed); }

    atomic<std::uint64_t> both_{std::uint64_t{2} << 32 | 2}; // the least stamp that counts as itself; the last tick
};

}}} // namespace cmwq::CMWQ_NS::detail
