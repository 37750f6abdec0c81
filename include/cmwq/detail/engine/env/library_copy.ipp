// SPDX-License-Identifier: BSL-1.0
//
// The bodies of library_copy.hpp.

#include <cmwq/detail/engine/env/library_copy.hpp>
#include <cmwq/version.hpp>
#include <cmwq/work.hpp>

#include <cstdio>
#include <exception>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE const library_copy& this_copy() noexcept {
    static constexpr library_copy copy{
        .name = "cmwq", .version = {CMWQ_VERSION_MAJOR, CMWQ_VERSION_MINOR, CMWQ_VERSION_PATCH}, .backend = CMWQ_SYNC};
    return copy;
}

inline constexpr const char* how_to_share_copy = "a program and its plugins can share one copy: link both with "
                                                 "cmwq::compiled as a shared library, or the program with "
                                                 "-rdynamic, and hide no symbols of cmwq";

[[noreturn]] CMWQ_INLINE void refuse_copy(const library_copy& by, const char* what) noexcept {
    std::fprintf(stderr, "cmwq: %s of another copy of the library (version %u.%u.%u) is used: %s\n", what,
                 by.version[0], by.version[1], by.version[2], how_to_share_copy);
    std::terminate();
}

[[noreturn]] CMWQ_INLINE void refuse_item_of_other_copy(const work_base& w) noexcept {
    std::fprintf(stderr,
                 "cmwq: item %p was queued on a queue of another copy of the library, so this one cannot wait for it, "
                 "cancel or destroy it: %s\n",
                 static_cast<const void*>(&w), how_to_share_copy);
    std::terminate();
}

}}} // namespace cmwq::CMWQ_NS::detail
