// SPDX-License-Identifier: BSL-1.0
//
// library_copy: what one copy of the library in a process shows to the others. A plugin with hidden symbols has one of
// its own, for instance. The copies introduce themselves when one of them gets a queue or a runtime of the other;
// docs/architecture.md tells what they share from then on.
#pragma once

#include <cmwq/detail/sync/foreign_slots.hpp>

#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class directory;
class wait_graph;

struct library_copy {
    /// The same in all versions, so that each can tell whether it understands the rest.
    struct build {
        char name[8];
        std::uint32_t version[3];
        std::uint32_t backend;
        std::uint32_t layout[8]; ///< sizes of what the copies would have in common
        bool operator==(const build&) const = default;
    };

    build made_from;
    directory* runtimes;
    wait_graph* waits;
    slots_of_thread slots;
    set_once<slots_of_thread>* others_slots;
    set_once<library_copy*> known[max_copies]; ///< the others, filled from the front, for good
};

/// That of this code.
library_copy& this_copy() noexcept;

/// A base of what copies give to each other: at the same place in all versions.
struct made_by {
    library_copy* const copy = &this_copy();
};

/// The copies know each other from here on. Ends the program if they cannot work together. Without a lock held.
void introduce(library_copy& other) noexcept;

/// Before anything else is done with what a caller has given.
inline void check_copy(const made_by& m) noexcept {
    if (m.copy != &this_copy()) [[unlikely]]
        introduce(*m.copy);
}

/// Calls f(library_copy&) for the others until that returns true.
template <class F>
bool any_other_copy(const F& f) noexcept {
    for (const auto& k : this_copy().known) {
        library_copy* const c = k.get();
        if (c == nullptr) return false;
        if (f(*c)) return true;
    }
    return false;
}

} // namespace cmwq::inline CMWQ_NS::detail
