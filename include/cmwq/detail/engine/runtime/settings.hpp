// SPDX-License-Identifier: BSL-1.0
//
// Options as text: "watchdog=10s,power_efficient=1,cpus=0-3+5". The environment variable CMWQ has this form.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/runtime_options.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
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
    /// A duration whose unit may be missing.
    struct or_milliseconds {
        std::chrono::nanoseconds& time;
    };

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
        or_milliseconds interval{o.schedtrace};
        f("schedtrace", interval);
        f("trace", o.trace);
        f("flight_recorder", o.flight_recorder);
    }

    void set(runtime_options& o, std::string_view word) const {
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos) refuse(word, "is no option=value");
        const std::string_view name = trim(word.substr(0, equals)), value = trim(word.substr(equals + 1));
        bool known = false;
        for_each_option(o, [&](std::string_view n, auto& option) {
            if (n != name) return;
            known = true;
            if (!read(value, option)) refuse(word, wants(option));
        });
        if (known) return;
        std::string names;
        for_each_option(o, [&](std::string_view n, auto&) { names += (names.empty() ? "" : ", ") + std::string(n); });
        refuse(word, "names no option; there are " + names);
    }

    template <class T>
    static std::string wants(const T& /*option*/) {
        if constexpr (std::is_same_v<T, bool>) return "wants 0, 1, false or true";
        else if constexpr (std::is_same_v<T, std::string>) return "wants a text";
        else if constexpr (std::is_same_v<T, or_milliseconds>)
            return "wants a whole number of milliseconds, or one with ns, us, ms, s or min, no more than 292 years";
        else if constexpr (std::is_same_v<T, unsigned>)
            return "wants a whole number up to " + std::to_string(std::numeric_limits<unsigned>::max());
        else if constexpr (std::is_same_v<T, cpuset>)
            return "wants a list of CPUs below " + std::to_string(cpuset::capacity) + ", as 0-3+8";
        else if constexpr (std::is_same_v<T, affinity_scope>) {
            std::string names = "wants one of";
            for (const affinity_scope s : affinity_scopes) names += " " + std::string(to_string(s));
            return names;
        } else {
            return "wants a duration: a whole number and ns, us, ms, s or min, no more than 292 years; or 0";
        }
    }

    static bool read(std::string_view text, bool& to) noexcept {
        to = text == "1" || text == "true";
        return to || text == "0" || text == "false";
    }

    template <class T>
        requires std::is_same_v<T, unsigned>
    static bool read(std::string_view text, T& to) noexcept {
        return whole_number(text, to) && text.empty();
    }

    static bool read(std::string_view text, std::chrono::nanoseconds& to) noexcept {
        constexpr std::pair<std::string_view, std::int64_t> units[] = {
            {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}};
        std::int64_t number = 0;
        if (!whole_number(text, number)) return false;
        if (number == 0 && text.empty()) {
            to = {};
            return true;
        }
        for (const auto& [unit, ns] : units) {
            if (text != unit || number > std::numeric_limits<std::int64_t>::max() / ns) continue;
            to = std::chrono::nanoseconds{number * ns};
            return true;
        }
        return false;
    }

    static bool read(std::string_view text, or_milliseconds& to) {
        const bool bare = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
        return read(bare ? std::string(text) + "ms" : std::string(text), to.time);
    }

    static bool read(std::string_view text, std::string& to) {
        to = text;
        return !text.empty();
    }

    static bool read(std::string_view text, affinity_scope& to) noexcept {
        const std::optional<affinity_scope> scope = parse_affinity_scope(text);
        if (!scope.has_value() || *scope == affinity_scope::default_) return false;
        to = *scope;
        return true;
    }

    static bool read(std::string_view text, cpuset& to) {
        if (text.empty() || text.find_first_not_of("0123456789-+") != std::string_view::npos) return false;
        std::string list(text); // '+' separates CPUs, because a comma ends the word
        std::replace(list.begin(), list.end(), '+', ',');
        try {
            to = cpuset::parse(list);
        } catch (const std::invalid_argument&) {
            return false;
        }
        return true;
    }

    // Reads the digits at the front of `text`, and removes them. Returns whether the number fits into `to`.
    template <class T>
    static bool whole_number(std::string_view& text, T& to) noexcept {
        if (text.empty() || text.front() < '0' || text.front() > '9') return false; // no sign
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        return error == std::errc();
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
