// SPDX-License-Identifier: BSL-1.0
//
// event_record: an event as the thread that notices it leaves it: facts of a fixed size, without a message.
#pragma once

#include <cmwq/runtime_options.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Completes `e`. `describe()` returns the message without the text of the error, or `describe(e)` sets what it knows.
/// If there is no memory, the event has no message: it may be about just that.
template <class Describe>
void describe_event(event& e, Describe& describe) noexcept {
    try {
        if constexpr (std::is_invocable_v<Describe&, event&>) describe(e);
        else e.message = describe();
        if (e.error != 0) e.message += std::string(": ") + std::strerror(e.error);
    } catch (const std::bad_alloc&) {
        e.message.clear(); // the kind and the error remain
    }
}

/// One thread fills it, and another one completes the event: what takes time is done there. `set()` and `take()` take
/// turns.
class event_record {
public:
    /// Keeps `describe`, which describe_event() will call. It is moved, and allocates nothing meanwhile.
    template <class Describe>
    void set(event::kind what, int error, unsigned cpu, Describe&& describe) noexcept {
        static_assert(!std::is_reference_v<Describe> && std::is_nothrow_move_constructible_v<Describe>);
        static_assert(sizeof(Describe) <= sizeof facts_ && alignof(Describe) <= alignof(std::max_align_t));
        what_ = what;
        error_ = error;
        cpu_ = cpu;
        ::new (static_cast<void*>(facts_)) Describe(std::forward<Describe>(describe));
        complete_ = [](void* facts, event& e) noexcept {
            auto& d = *static_cast<Describe*>(facts);
            describe_event(e, d);
            std::destroy_at(&d);
        };
    }

    /// The event with its message.
    [[nodiscard]] event take() noexcept {
        event e{what_, error_, cpu_, {}};
        complete_(facts_, e);
        return e;
    }

private:
    event::kind what_{};
    int error_ = 0;
    unsigned cpu_ = 0;
    void (*complete_)(void* facts, event& e) noexcept = nullptr;
    alignas(std::max_align_t) std::byte facts_[192];
};

}}} // namespace cmwq::CMWQ_NS::detail
