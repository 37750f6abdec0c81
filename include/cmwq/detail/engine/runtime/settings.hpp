// SPDX-License-Identifier: BSL-1.0
//
// Options as text: "watchdog=10s,power_efficient=1,cpus=0-3+5". The environment variable CMWQ has this form.
#pragma once

#include <cmwq/detail/engine/runtime/option_text.hpp>
#include <cmwq/runtime_options.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Sets the options that a text names. Blanks around words are ignored. If an option is named twice, the last value is
/// used.
class settings {
public:
    /// `source`: where the text comes from, for messages.
    settings(std::string_view source, std::string_view text) : source_(source), text_(text) {}

    /// Returns `base` with the options of the text set. Throws std::invalid_argument with the source, the wrong word,
    /// and the values that are allowed.
    [[nodiscard]] runtime_options over(runtime_options base) const {
        if (trim(text_).empty()) return base;
        for (std::string_view rest = text_;;) {
            const std::size_t comma = rest.find(',');
            set(base, trim(rest.substr(0, comma)));
            if (comma == std::string_view::npos) return base;
            rest.remove_prefix(comma + 1);
        }
    }

private:
    // Calls f(name, option) for every option that is a text, a number, a switch, a duration, a scope or a set of CPUs.
    template <class F>
    static void for_each_option(runtime_options& o, F&& f) {
        f("cpus", o.cpus);
        f("unbound_cpus", o.unbound_cpus);
        f("default_scope", o.default_scope);
        f("cache_shard_size", o.cache_shard_size);
        f("power_efficient", o.power_efficient);
        f("max_threads", o.max_threads);
        f("idle_timeout", o.idle_timeout);
        f("idle_poll", o.idle_poll);
        f("may_block_threshold", o.may_block_threshold);
        f("cpu_hog_threshold", o.cpu_hog_threshold);
        f("overdue_after", o.overdue_after);
        f("cpu_hog_warning_threshold", o.cpu_hog_warning_threshold);
        f("watchdog", o.watchdog);
        f("abort_on_stall_after", o.abort_on_stall_after);
        f("sentinel", o.sentinel);
        f("name", o.name);
        f("metrics", o.metrics);
        f("metrics_interval", o.metrics_interval);
        option_text::or_milliseconds interval{o.schedtrace};
        f("schedtrace", interval);
        f("trace", o.trace);
        f("flight_recorder", o.flight_recorder);
        f("control", o.control);
    }

    void set(runtime_options& o, std::string_view word) const {
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) {
            const bool is_cpus = !word.empty() && word.find_first_not_of("0123456789-") == std::string_view::npos;
            refuse(word, is_cpus ? "is no option=value; parts of a list of CPUs have + between them, as 0-3+8"
                                 : "is no option=value");
        }
        const std::string_view name = trim(word.substr(0, equals)), value = trim(word.substr(equals + 1));
        bool known = false;
        for_each_option(o, [&](std::string_view n, auto& option) {
            if (n != name) return;
            known = true;
            if (!option_text::read(value, option)) refuse(word, option_text::wants(option));
        });
        if (known) return;
        refuse(word,
               "names no option; there are " + option_text::names_of([&](const auto& f) { for_each_option(o, f); }));
    }

    static std::string_view trim(std::string_view s) noexcept {
        constexpr std::string_view blanks = " \t\r\n";
        const std::size_t first = s.find_first_not_of(blanks);
        return first == std::string_view::npos ? std::string_view{}
                                               : s.substr(first, s.find_last_not_of(blanks) - first + 1);
    }

    [[noreturn]] void refuse(std::string_view word, const std::string& why) const {
        throw std::invalid_argument("cmwq: " + std::string(source_) + ": '" + std::string(word) + "' " + why);
    }

    std::string_view source_, text_;
};

}}} // namespace cmwq::CMWQ_NS::detail
