// SPDX-License-Identifier: BSL-1.0
//
// How messages name items, queues and times. The functions throw std::bad_alloc. Those that name an item are called
// without a lock of the library: see describe_function().
#pragma once

#include <cmwq/detail/base/printable.hpp>
#include <cmwq/detail/engine/item/callable_name.hpp>
#include <cmwq/detail/engine/item/task_of_group.hpp>
#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/sync/system.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Identifies an item in messages, by its address (null: the item is gone) and its function. The address is never
/// dereferenced.
struct item_name {
    const void* item = nullptr;
    work_access::function function = nullptr;
};

/// Of `w`, which exists.
inline item_name name_of(const work_base& w) noexcept { return {&w, shown_function(w)}; }

/// Of the function of an item: what it runs.
inline std::string describe_callable(work_access::function f) { return callable_name(describe_function(f)); }

inline std::string describe_queue(std::string_view name) { return "queue \"" + printable(name) + "\""; }

/// `time`: nanoseconds; milliseconds are what is shown.
inline std::string in_seconds(std::int64_t time) {
    char text[32];
    std::snprintf(text, sizeof text, "%g s", static_cast<double>(time / 1'000'000) / 1e3);
    return text;
}

/// What this_work::describe() has said of a run, in parentheses; empty: nothing.
inline std::string description_in_parentheses(std::string_view text) {
    return text.empty() ? std::string() : " (" + printable(text) + ")";
}

inline std::string describe_address(const void* p) {
    char address[2 + 2 * sizeof p + 2];
    std::snprintf(address, sizeof address, "%p", p);
    return address;
}

inline std::string describe(const item_name& i) {
    const std::string function = " (" + describe_callable(i.function) + ")";
    if (i.item == nullptr) return "an item that has destroyed itself" + function;
    return "item " + describe_address(i.item) + function;
}

}}} // namespace cmwq::CMWQ_NS::detail
