// SPDX-License-Identifier: BSL-1.0
//
// library_copy: the identity of one copy of the library in a process. A plugin with hidden symbols, for instance, has
// its own copy. Copies share nothing: each has its threads, its runtimes and its graph of waits.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS {
class work_base;
}} // namespace cmwq::CMWQ_NS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One constant object for each copy. Its address is what differs; the contents are for messages, with the same layout
/// in all versions.
struct library_copy {
    char name[8];
    std::uint32_t version[3];
    std::uint32_t backend;
};

/// The copy that the calling code belongs to.
const library_copy& this_copy() noexcept;

/// Base of the objects that a program can hand from one copy to another, at the same offset in all versions. Names the
/// copy that made the object.
struct made_by {
    const library_copy* const copy = &this_copy();
    /// Whether the calling code belongs to that copy.
    [[nodiscard]] bool is_of_this_copy() const noexcept { return copy == &this_copy(); }
};

/// The object belongs to another copy, which `by` names. Says how to share one copy, and ends the program. `what`: the
/// kind of object.
[[noreturn]] void refuse_copy(const library_copy& by, const char* what) noexcept;
/// The same for an item that this copy cannot find.
[[noreturn]] void refuse_item_of_other_copy(const work_base& w) noexcept;

inline constexpr char a_queue[] = "a queue", a_runtime[] = "a runtime";

/// Called where a queue, a group or a runtime of another copy would be waited for, changed or used by a new object, but
/// not where an item is queued: an item is data.
inline void check_copy(const made_by& m, const char* what) noexcept {
    if (!m.is_of_this_copy()) [[unlikely]]
        refuse_copy(*m.copy, what);
}

}}} // namespace cmwq::CMWQ_NS::detail
