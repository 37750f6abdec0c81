// SPDX-License-Identifier: BSL-1.0
//
// For tests of items that wait for each other: the reports of a runtime, and the messages of refused waits.
#pragma once

#include "event_log.hpp"
#include "text.hpp"

#include <cmwq/cmwq.hpp>

#include <cstdio>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

namespace cmwq_test {

/// A runtime, and its reports of one kind.
class watched_runtime {
public:
    explicit watched_runtime(cmwq::event::kind what = cmwq::event::kind::deadlock, cmwq::runtime_options o = {})
        : what_(what), rt([&] {
              o.on_event = events_.listener();
              return o;
          }()) {}

    /// Of the events so far.
    [[nodiscard]] std::vector<std::string> messages() const {
        static_cast<void>(all_told(rt));
        return events_.messages(what_);
    }
    [[nodiscard]] std::size_t count() const { return messages().size(); }

private:
    const cmwq::event::kind what_;
    event_log events_;

public:
    cmwq::runtime rt;
};

inline std::string address(const cmwq::work_base& w) {
    char text[32];
    std::snprintf(text, sizeof text, "%p", static_cast<const void*>(&w));
    return text;
}

/// Returns the message of a call that is refused because it would wait for itself. Empty: the call was not refused.
inline std::string refusal_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::system_error& e) {
        return e.code() == std::errc::resource_deadlock_would_occur ? e.what() : "another error";
    }
    return {};
}

} // namespace cmwq_test
