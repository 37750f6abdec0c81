// SPDX-License-Identifier: BSL-1.0
//
// option_text: the value of an option as text.
#pragma once

#include <cmwq/affinity_scope.hpp>
#include <cmwq/cpuset.hpp>

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

/// A text, a number, a switch, a duration, a scope or a set of CPUs. Members that are not noexcept throw
/// std::bad_alloc.
class option_text {
public:
    /// A duration whose unit may be missing.
    struct or_milliseconds {
        std::chrono::nanoseconds& time;
    };

    // --- which values there are, for messages ------------------------------------------------------------------------

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

    /// The names of all options: `for_each(f)` calls f(name, option) for each.
    template <class ForEach>
    static std::string names_of(const ForEach& for_each) {
        std::string names;
        for_each([&](std::string_view n, const auto& /*option*/) {
            if (!names.empty()) names += ", ";
            names += n;
        });
        return names;
    }

    // --- reading: false, and `to` has any value then: the text is no such value
    // ---------------------------------------

    static bool read(std::string_view text, bool& to) noexcept {
        to = text == "1" || text == "true";
        return to || text == "0" || text == "false";
    }

    template <class T>
        requires std::is_same_v<T, unsigned>
    static bool read(std::string_view text, T& to) noexcept {
        return whole_number(text, to) && text.empty();
    }

    static bool read(std::string_view text, int& to) noexcept {
        const bool negative = text.starts_with('-');
        if (negative) text.remove_prefix(1);
        if (!whole_number(text, to) || !text.empty()) return false;
        if (negative) to = -to;
        return true;
    }

    static bool read(std::string_view text, std::chrono::nanoseconds& to) noexcept {
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
        if (text.empty() || text.find_first_not_of("0123456789-+,") != std::string_view::npos) return false;
        std::string list(text); // in a list of options a comma ends the word, so '+' separates CPUs, too
        std::replace(list.begin(), list.end(), '+', ',');
        try {
            to = cpuset::parse(list);
        } catch (const std::invalid_argument&) {
            return false;
        }
        return true;
    }

    // --- writing: read() reads it again ------------------------------------------------------------------------------

    static std::string write(bool value) { return value ? "1" : "0"; }
    template <class T>
        requires(std::is_same_v<T, unsigned> || std::is_same_v<T, int>)
    static std::string write(T value) {
        return std::to_string(value);
    }
    static std::string write(std::chrono::nanoseconds value) {
        std::string text = "0";
        for (const auto& [unit, ns] : units) {
            if (value.count() != 0 && value.count() % ns == 0) text = std::to_string(value.count() / ns).append(unit);
        }
        return text;
    }
    static std::string write(affinity_scope value) { return std::string(to_string(value)); }
    static std::string write(const cpuset& value) { return value.to_string(); }

private:
    static constexpr std::pair<std::string_view, std::int64_t> units[] = {
        {"ns", 1}, {"us", 1'000}, {"ms", 1'000'000}, {"s", 1'000'000'000}, {"min", 60'000'000'000}};

    // Reads the digits at the front of `text`, and removes them. Returns whether the number fits into `to`.
    template <class T>
    static bool whole_number(std::string_view& text, T& to) noexcept {
        if (text.empty() || text.front() < '0' || text.front() > '9') return false; // no sign
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        return error == std::errc();
    }
};

}}} // namespace cmwq::CMWQ_NS::detail
