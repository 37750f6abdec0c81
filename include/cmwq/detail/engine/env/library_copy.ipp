// SPDX-License-Identifier: BSL-1.0
//
// The bodies of library_copy.hpp: how copies of the library register with each other.
#pragma once

#include <cmwq/detail/engine/env/library_copy.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/directory.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/version.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE library_copy& this_copy() noexcept {
    static constinit library_copy copy{
        .made_from = {.name = "cmwq",
                      .version = {CMWQ_VERSION_MAJOR, CMWQ_VERSION_MINOR, CMWQ_VERSION_PATCH},
                      .backend = CMWQ_SYNC,
                      .layout = {sizeof(work_base), sizeof(delayed_work_base), sizeof(queue_core), sizeof(runtime_core),
                                 sizeof(item_pool), sizeof(pool_workqueue), sizeof(worker), sizeof(directory)}},
        .runtimes = &directory::get(),
        .waits = &wait_graph::of_this_copy(),
        .slots = &own_thread_slots,
        .others_slots = foreign_slots,
        .known = {}};
    return copy;
}

[[noreturn]] CMWQ_INLINE void refuse_copy(const library_copy::build& other, const char* why) noexcept {
    const library_copy::build& own = this_copy().made_from;
    std::fprintf(stderr,
                 "cmwq: a queue or a runtime of another copy of the library is used, which is version %u.%u.%u with "
                 "backend %u, by one of version %u.%u.%u with backend %u: %s\n",
                 other.version[0], other.version[1], other.version[2], other.backend, own.version[0], own.version[1],
                 own.version[2], own.backend, why);
    std::terminate();
}

/// The item was queued by a copy with which this one never exchanged a queue, so this copy cannot find out whether the
/// item runs. Ends the program.
[[noreturn]] CMWQ_INLINE void refuse_item_of_unknown_copy(const work_base& w) noexcept {
    std::fprintf(stderr,
                 "cmwq: item %p was queued by another copy of the library, which this one has not met: before it waits "
                 "for the item, cancels or destroys it, this one has to be given a queue of the other one\n",
                 static_cast<const void*>(&w));
    std::terminate();
}

// Adds an entry, if the list does not have it. False: the list is full.
template <class T>
bool append(set_once<T>* list, T entry) noexcept {
    return std::any_of(list, list + max_copies, [&](set_once<T>& s) { return s.set(entry); });
}

// Enters `other` in the lists of `to`. Any number of threads may do this for the same two copies: each step takes
// effect once, and `known`, which other threads check, is last. False: a list is full.
CMWQ_INLINE bool register_copy(library_copy& to, library_copy& other) noexcept {
    if (&to == &other) return true;
    return append(to.others_slots, other.slots) && append(to.known, &other);
}

CMWQ_INLINE void introduce(library_copy& other) noexcept {
    library_copy& own = this_copy();
    if (any_other_copy([&](const library_copy& c) { return &c == &other; })) return;
    if (!(other.made_from == own.made_from))
        refuse_copy(other.made_from, "they have to be built from the same headers");
    if (!own.runtimes->ids_differ(*other.runtimes)) refuse_copy(other.made_from, "their pools have the same ids");
    // From here on each copy has pointers to data and code of the other, so neither is unloaded.
    keep_loaded(reinterpret_cast<const void*>(own.slots));
    keep_loaded(reinterpret_cast<const void*>(other.slots));
    wait_graph::merge(*own.waits, *other.waits);
    bool room = true;
    const auto acquaint = [&](library_copy& a, library_copy& b) {
        room = room && register_copy(a, b) && register_copy(b, a);
    };
    for (const auto& k : other.known) {
        if (library_copy* const c = k.get(); c != nullptr && c != &own) {
            wait_graph::merge(*own.waits, *c->waits);
            acquaint(own, *c);
        }
    }
    for (const auto& k : own.known) {
        if (library_copy* const c = k.get(); c != nullptr && c != &other) acquaint(*c, other);
    }
    acquaint(own, other);
    if (!room) refuse_copy(other.made_from, "there are too many of them");
}

}}} // namespace cmwq::CMWQ_NS::detail
