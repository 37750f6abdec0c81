// SPDX-License-Identifier: BSL-1.0
//
// callable_name: what an item runs, as its program calls it.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

#define CMWQ_TEXT_OF(x) #x
#define CMWQ_TEXT(x) CMWQ_TEXT_OF(x)

inline void replace_all(std::string& in, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = in.find(what, at)) != std::string::npos; at += by.size())
        in.replace(at, what.size(), by);
}

/// The text in the angle brackets that begin at that index. The name of a lambda expression, or of an operator, may
/// contain such a bracket alone, which then ends the text too early or not at all.
inline std::string_view in_brackets(std::string_view s, std::size_t opening) {
    std::size_t depth = 0;
    for (std::size_t i = opening; i < s.size(); ++i) {
        if (s[i] == '<') ++depth;
        if (s[i] != '>' || s[i - 1] == '-') continue;
        if (--depth == 0) return s.substr(opening + 1, i - opening - 1);
    }
    return s.substr(opening + 1);
}

/// Of the demangled name of the function of an item. "cmwq::v0_std::work<parse>::call(cmwq::v0_std::work_base&)" is
/// "parse": the functions of the library's own items are static members of templates, of which the callable is an
/// argument. The debugger's commands shorten names in the same way. Throws std::bad_alloc.
inline std::string callable_name(std::string name) {
    replace_all(name, "cmwq::" CMWQ_TEXT(CMWQ_NS) "::", "cmwq::");
    replace_all(name, "(anonymous namespace)::", "");
    for (const std::string_view wrapper : {"cmwq::work<", "cmwq::delayed_work<", "cmwq::work_member<",
                                           "cmwq::detail::posted<", "cmwq::detail::group_task_of<"}) {
        if (!name.starts_with(wrapper)) continue;
        std::string_view callable = in_brackets(name, wrapper.size() - 1);
        if (wrapper == "cmwq::work_member<") { // "&(server::flush())" or "&server::flush"
            callable.remove_prefix(std::min(callable.find_first_not_of("(&"), callable.size()));
            return std::string(callable.substr(0, callable.find_first_of("()")));
        }
        constexpr std::string_view async = "cmwq::make_async<"; // whose first argument is the callable
        if (callable.starts_with(async)) callable = in_brackets(callable, async.size() - 1);
        return std::string(callable.substr(0, callable.find_last_not_of(' ') + 1)); // some write "> >"
    }
    return name;
}

#undef CMWQ_TEXT
#undef CMWQ_TEXT_OF

}}} // namespace cmwq::CMWQ_NS::detail
