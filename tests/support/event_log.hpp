// SPDX-License-Identifier: BSL-1.0
//
// The events that a runtime has reported.
#pragma once

#include "core_of.hpp"
#include "eventually.hpp"

#include <cmwq/runtime.hpp>
#include <cmwq/runtime_options.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cmwq_test {

/// Waits until the runtime has delivered every event that it has noticed so far. False: it takes too long.
[[nodiscard]] inline bool all_told(const cmwq::runtime& rt) {
    return eventually([&] { return core_of(rt).env().events.all_delivered(); });
}

/// Records events. The test passes listener() to `runtime_options::on_event`. The log must outlive the runtime. It
/// allocates memory: a test in which allocations fail has to count its events itself.
class event_log {
public:
    [[nodiscard]] auto listener() {
        return [this](const cmwq::event& e) {
            const std::lock_guard g(lock_);
            events_.push_back(e);
        };
    }

    [[nodiscard]] std::vector<cmwq::event> all() const {
        const std::lock_guard g(lock_);
        return events_;
    }
    /// The number of events of that kind whose message contains `part`.
    [[nodiscard]] int count(cmwq::event::kind what, std::string_view part = "") const {
        int n = 0;
        for (const std::string& m : messages(what)) n += m.find(part) != std::string::npos ? 1 : 0;
        return n;
    }
    /// The messages of all events of that kind.
    [[nodiscard]] std::vector<std::string> messages(cmwq::event::kind what) const {
        std::vector<std::string> found;
        for (const cmwq::event& e : all()) {
            if (e.what == what) found.push_back(e.message);
        }
        return found;
    }
    /// The first event of that kind. If there is none: an event of that kind without contents.
    [[nodiscard]] cmwq::event first(cmwq::event::kind what) const {
        for (const cmwq::event& e : all()) {
            if (e.what == what) return e;
        }
        return {what, 0, 0, {}};
    }
    /// As first(), for the last event.
    [[nodiscard]] cmwq::event last(cmwq::event::kind what) const {
        cmwq::event found{what, 0, 0, {}};
        for (const cmwq::event& e : all()) {
            if (e.what == what) found = e;
        }
        return found;
    }

private:
    mutable std::mutex lock_;
    std::vector<cmwq::event> events_;
};

} // namespace cmwq_test
