// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <model/core.hpp>

#include <cstdio>
#include <cstdlib>

namespace cmwq::inline CMWQ_NS::detail::model {

/// What mutex, parker and semaphore share: their state belongs to one run, and carries a clock.
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

    /// A step. False: what this object remembers was left behind by an earlier run that was given up.
    bool enter(world& w) noexcept {
        w.point();
        const bool ours = run_ == 0 || run_ == w.run();
        run_ = w.run();
        if (w.searching()) w.access(record(w));
        return ours;
    }
    /// The running thread learns what the givers did.
    void take_clock(world& w) noexcept {
        if (w.searching()) w.self().clock.join(record(w).sync);
    }
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

} // namespace cmwq::inline CMWQ_NS::detail::model
