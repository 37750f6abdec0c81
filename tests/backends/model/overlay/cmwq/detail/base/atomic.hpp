// SPDX-License-Identifier: BSL-1.0
//
// The atomic of the model backend. In a searched execution, every operation on it is a step of the schedule. Outside of
// a run, and in simulations, it is a plain variable.
#pragma once

#include <cmwq/detail/base/memory_order.hpp>
#include <model/memory.hpp>

#include <type_traits>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class T>
class atomic {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T> || std::is_pointer_v<T>);

public:
    constexpr atomic() noexcept { born(); }
    constexpr explicit atomic(T v) noexcept : v_(v) { born(); }
    constexpr ~atomic() {
        if (!std::is_constant_evaluated()) {
            if (model::world* w = model::world::current()) w->destroyed(this, mark_);
        }
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(memory_order o) const noexcept {
        if (model::world* w = step()) return from_raw(model::load(*w, record(*w), o));
        return v_;
    }
    void store(T v, memory_order o) noexcept {
        model::world* w = step();
        if (w != nullptr) model::store(*w, record(*w), to_raw(v), o);
        v_ = v;
        if (w == nullptr) changed();
    }
    T exchange(T v, memory_order o) noexcept {
        return modify(o, "exchange", [v](std::uint64_t) { return to_raw(v); });
    }
    bool compare_exchange_weak(T& expected, T v, memory_order ok, memory_order fail) noexcept {
        return compare_exchange(expected, v, ok, fail, true);
    }
    bool compare_exchange_strong(T& expected, T v, memory_order ok, memory_order fail) noexcept {
        return compare_exchange(expected, v, ok, fail, false);
    }
    T fetch_add(T d, memory_order o) noexcept {
        static_assert(std::is_integral_v<T>);
        return modify(o, "fetch_add", [d](std::uint64_t old) { return old + to_raw(d); });
    }
    T fetch_sub(T d, memory_order o) noexcept {
        static_assert(std::is_integral_v<T>);
        return modify(o, "fetch_sub", [d](std::uint64_t old) { return old - to_raw(d); });
    }
    T fetch_or(T m, memory_order o) noexcept {
        static_assert(std::is_integral_v<T>);
        return modify(o, "fetch_or", [m](std::uint64_t old) { return old | to_raw(m); });
    }
    T fetch_and(T m, memory_order o) noexcept {
        static_assert(std::is_integral_v<T>);
        return modify(o, "fetch_and", [m](std::uint64_t old) { return old & to_raw(m); });
    }

private:
    static std::uint64_t to_raw(T v) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<std::uintptr_t>(v);
        } else {
            return static_cast<std::uint64_t>(v);
        }
    }
    static T from_raw(std::uint64_t v) noexcept {
        if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<T>(static_cast<std::uintptr_t>(v));
        } else {
            return static_cast<T>(v);
        }
    }
    // Sums wrap at the width of T, as they do in hardware.
    static std::uint64_t narrow(std::uint64_t v) noexcept { return to_raw(from_raw(v)); }

    constexpr void born() noexcept {
        if (!std::is_constant_evaluated()) {
            model::world* w = model::world::current();
            if (w != nullptr && w->searching()) w->record(this, mark_, 'a', to_raw(v_), true);
        }
    }
    model::object& record(model::world& w) const noexcept { return w.record(this, mark_, 'a', to_raw(v_), false); }

    // The world, if this operation is a step of a search.
    static model::world* step() noexcept {
        model::world* w = model::world::current();
        if (w == nullptr) return nullptr;
        w->point();
        return w->searching() ? w : nullptr;
    }
    static void changed() noexcept {
        if (model::world* w = model::world::current()) w->mutated();
    }

    template <class F>
    T modify(memory_order o, const char* what, F change) noexcept {
        T old = v_;
        if (model::world* w = step()) {
            old = from_raw(model::modify(*w, record(*w), o, what, [&](std::uint64_t v) { return narrow(change(v)); }));
            v_ = from_raw(narrow(change(to_raw(old))));
        } else {
            old = v_;
            v_ = from_raw(change(to_raw(old)));
            changed();
        }
        return old;
    }

    bool compare_exchange(T& expected, T v, memory_order ok, memory_order fail, bool weak) noexcept {
        if (model::world* w = step()) {
            std::uint64_t seen = to_raw(expected);
            const bool done = model::compare_exchange(*w, record(*w), seen, to_raw(v), ok, fail, weak);
            if (done) v_ = v;
            expected = from_raw(seen);
            return done;
        }
        if (v_ != expected) {
            expected = v_;
            return false;
        }
        v_ = v;
        changed();
        return true;
    }

    T v_{};
    mutable model::mark mark_;
};

}}} // namespace cmwq::CMWQ_NS::detail
