// SPDX-License-Identifier: BSL-1.0
//
// carrier: the common base of the model's mutex, parker and semaphore.
#pragma once

#include <model/core.hpp>

#include <cstdio>
#include <cstdlib>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

/// The state of such an object belongs to one run, and carries a vector clock from thread to thread.
class carrier {
public:
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;

protected:
    constexpr explicit carrier(char kind) noexcept : kind_(kind) {
        if (!std::is_constant_evaluated()) {
            world* w = world::current();
            if (w == nullptr) return;
            run_ = w->run();
            if (w->searching()) w->record(this, mark_, kind_, 0, true);
        }
    }
    constexpr ~carrier() {
        if (!std::is_constant_evaluated()) {
            if (world* w = world::current()) w->destroyed(this, mark_);
        }
    }

    /// A step of the schedule. False: the state of this object is from an earlier run that was aborted.
    bool enter(world& w) noexcept {
        w.point();
        const bool ours = run_ == 0 || run_ == w.run();
        run_ = w.run();
        if (w.searching()) w.access(record(w));
        return ours;
    }
    /// The running thread acquires the clocks that were given.
    void take_clock(world& w) noexcept {
        if (w.searching()) w.self().clock.join(record(w).sync);
    }
    /// The running thread releases its clock.
    void give_clock(world& w) noexcept {
        if (w.searching()) record(w).sync.join(w.self().clock);
    }
    std::string name(world& w) noexcept {
        return w.searching() ? w.name_of(record(w)) : (kind_ == 'm' ? "mutex" : "parker") + w.label_of(this);
    }

private:
    object& record(world& w) noexcept { return w.record(this, mark_, kind_, 0, false); }

    std::uint32_t run_ = 0;
    mark mark_;
    char kind_;
};

[[noreturn]] inline void outside_of_a_run(const char* what) noexcept {
    std::fprintf(stderr, "cmwq model: %s outside of a run\n", what);
    std::abort();
}

}}} // namespace cmwq::CMWQ_NS::detail::model
