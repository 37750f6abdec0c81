// SPDX-License-Identifier: BSL-1.0
//
// library_copy: the interface of one copy of the library in a process to the other copies. A plugin with hidden
// symbols, for instance, has its own copy. Two copies register with each other when one of them gets a queue or a
// runtime of the other. docs/architecture.md describes what they share from then on.
#pragma once

#include <cmwq/detail/sync/foreign_slots.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class directory;
class wait_graph;

/// One object for each copy, constant-initialized. Any thread may read it; only introduce() adds entries, without a
/// lock.
struct library_copy {
    /// Has the same layout in all versions, so that each copy can check whether it understands the rest.
    struct build {
        char name[8];
        std::uint32_t version[3];
        std::uint32_t backend;
        std::uint32_t layout[8]; ///< sizes of the types that the copies would share
        bool operator==(const build&) const = default;
    };

    build made_from;
    directory* runtimes;
    wait_graph* waits;
    slots_of_thread slots;
    set_once<slots_of_thread>* others_slots;
    set_once<library_copy*> known[max_copies]; ///< the other copies, filled from the front; entries are never removed
};

/// The copy that the calling code belongs to.
library_copy& this_copy() noexcept;

/// Base of the objects that copies give to each other, at the same offset in all versions. Names the copy that made the
/// object.
struct made_by {
    library_copy* const copy = &this_copy();
};

/// Registers this copy and `other`, and the copies that they know, with each other. Ends the program if they cannot
/// work together. The caller holds no lock; any number of threads may call this at once.
void introduce(library_copy& other) noexcept;

/// Called first for every queue and runtime that a caller passes in: registers its copy if that is another one.
inline void check_copy(const made_by& m) noexcept {
    if (m.copy != &this_copy()) [[unlikely]]
        introduce(*m.copy);
}

/// Calls f(library_copy&) for the other known copies until `f` returns true. Returns whether it did.
template <class F>
bool any_other_copy(const F& f) noexcept {
    for (const auto& k : this_copy().known) {
        library_copy* const c = k.get();
        if (c == nullptr) return false;
        if (f(*c)) return true;
    }
    return false;
}

}}} // namespace cmwq::CMWQ_NS::detail
