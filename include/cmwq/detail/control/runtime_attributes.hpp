// SPDX-License-Identifier: BSL-1.0
//
// What can be changed of a runtime, by name and as text.
#pragma once

#include <cmwq/detail/control/queue_attributes.hpp>
#include <cmwq/detail/engine/runtime/option_text.hpp>
#include <cmwq/runtime.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The functions throw std::bad_alloc, and std::invalid_argument with a sentence for the user; nothing changed then.
class runtime_attributes {
public:
    /// Calls f(std::string_view name, std::string value) for each.
    template <class F>
    static void for_each(const runtime& rt, const F& f) {
        f("unbound_cpus", option_text::write(rt.unbound_cpus()));
        f("default_scope", option_text::write(rt.default_scope()));
        runtime_thresholds now = rt.thresholds();
        for_each_threshold(now, [&](std::string_view name, const auto& value) { f(name, option_text::write(value)); });
    }
    /// Their names, for messages.
    [[nodiscard]] static std::string names(const runtime& rt) {
        return option_text::names_of([&](const auto& f) { for_each(rt, f); });
    }
    [[nodiscard]] static bool has(const runtime& rt, std::string_view name) {
        bool known = false;
        for_each(rt, [&](std::string_view n, const auto& /*value*/) { known |= n == name; });
        return known;
    }
    static void set(runtime& rt, std::string_view name, std::string_view value) {
        if (name == "unbound_cpus") {
            cpuset cpus;
            queue_attributes::read(name, value, cpus);
            return rt.set_unbound_cpus(cpus);
        }
        if (name == "default_scope") {
            affinity_scope scope = affinity_scope::default_;
            queue_attributes::read(name, value, scope);
            return rt.set_default_scope(scope);
        }
        bool known = false;
        runtime_thresholds now = rt.thresholds();
        for_each_threshold(now, [&](std::string_view n, auto& threshold) {
            if (n != name) return;
            queue_attributes::read(name, value, threshold);
            known = true;
        });
        if (known) return rt.set_thresholds(now);
        throw std::invalid_argument("a runtime has no attribute '" + std::string(name) + "'; it has " + names(rt));
    }

private:
    template <class F>
    static void for_each_threshold(runtime_thresholds& of, const F& f) {
        f("may_block_threshold", of.may_block_threshold);
        f("cpu_hog_threshold", of.cpu_hog_threshold);
        f("cpu_hog_warning_threshold", of.cpu_hog_warning_threshold);
        f("overdue_after", of.overdue_after);
        f("watchdog", of.watchdog);
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
