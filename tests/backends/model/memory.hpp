// SPDX-License-Identifier: BSL-1.0
//
// The memory model of a searched execution. Each atomic keeps its last stores. A load may return any of them that
// coherence and happens-before allow, and the search chooses one. Read-modify-writes read the latest store.
//
// A load may not return an older value than a store if the first access to that store by some thread (the write itself,
// or a read of it) happens before the load. seq_cst operations execute in their total order, so a seq_cst load may not
// return an older value than a store that a seq_cst operation has written or read. Apart from that, seq_cst operations
// order no more than acquire and release do. There are no fences. A store is visible to all threads a millisecond
// later.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <model/core.hpp>

#include <algorithm>
#include <atomic>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

using order = std::memory_order;

inline bool acquires(order o) noexcept {
    return o == order::acquire || o == order::acq_rel || o == order::seq_cst || o == order::consume;
}
inline bool releases(order o) noexcept { return o == order::release || o == order::acq_rel || o == order::seq_cst; }
inline const char* name_of(order o) noexcept {
    switch (o) {
    case order::relaxed: return "relaxed";
    case order::consume: return "consume";
    case order::acquire: return "acquire";
    case order::release: return "release";
    case order::acq_rel: return "acq_rel";
    case order::seq_cst: return "seq_cst";
    }
    return "?";
}

/// The `back`-th store before the latest one; 0 is the latest.
inline store_record& store_of(object& o, unsigned back) noexcept {
    return o.history[(o.nr_stores - 1 - back) % max_history];
}

/// The standard asks that a store is visible to other threads "in a reasonable amount of time". Without such a bound a
/// thread that checks a flag at each tick of a clock could miss it for ever.
inline constexpr std::int64_t visible_after = 1'000'000;

/// How many stores, counted back from the latest, a load of order `m` in the running thread may read.
inline unsigned readable(world& w, object& o, order m) noexcept {
    const unsigned kept = std::min<unsigned>(o.nr_stores, w.history());
    const auto& clock = w.self().clock.at;
    unsigned n = 1;
    for (; n < kept; ++n) {
        const store_record& newer = store_of(o, n - 1);
        if (m == order::seq_cst && newer.sc) break;
        bool known = w.now() - newer.at >= visible_after;
        for (unsigned i = 0; i < max_threads; ++i) known |= newer.seen[i] <= clock[i];
        if (known) break;
    }
    return n;
}

/// Notes that the running thread has read `s` with order `m`: updates its clock, and the record of the store.
inline void note_read(world& w, store_record& s, order m) noexcept {
    logical_thread& t = w.self();
    std::uint32_t& seen = s.seen[t.id];
    if (seen == ~0u) seen = t.clock.at[t.id];
    if (m == order::seq_cst) s.sc = true;
    if (acquires(m)) t.clock.join(s.released);
}

/// Adds a store. `continued`: the clock of the release sequence that a read-modify-write continues, or null.
inline void append(world& w, object& o, std::uint64_t value, order m, const vclock* continued) noexcept {
    logical_thread& t = w.self();
    store_record& s = o.history[o.nr_stores % max_history];
    ++o.nr_stores;
    s.value = value;
    if (releases(m)) {
        s.released = t.clock;
        if (continued != nullptr) s.released.join(*continued);
    } else {
        s.released = continued != nullptr ? *continued : vclock{};
    }
    s.seen.fill(~0u);
    s.seen[t.id] = t.clock.at[t.id];
    s.sc = m == order::seq_cst;
    s.at = w.now();
    w.mutated();
}

inline std::uint64_t load(world& w, object& o, order m) noexcept {
    w.access(o);
    const unsigned n = readable(w, o, m);
    const unsigned back = n > 1 ? w.choose_store(n) : 0;
    store_record& s = store_of(o, back);
    note_read(w, s, m);
    if (w.tracing())
        w.trace("%s.load %s -> 0x%llx%s", w.name_of(o).c_str(), name_of(m), static_cast<unsigned long long>(s.value),
                back != 0 ? " (stale)" : "");
    return s.value;
}

inline void store(world& w, object& o, std::uint64_t value, order m) noexcept {
    w.access(o);
    append(w, o, value, m, nullptr);
    if (w.tracing())
        w.trace("%s.store %s 0x%llx", w.name_of(o).c_str(), name_of(m), static_cast<unsigned long long>(value));
}

/// A read-modify-write. Returns the old value; `change` maps it to the new one.
template <class F>
std::uint64_t modify(world& w, object& o, order m, const char* what, F change) noexcept {
    w.access(o);
    store_record& s = store_of(o, 0);
    note_read(w, s, m);
    const std::uint64_t old = s.value;
    const vclock carried = s.released; // a read-modify-write continues the release sequence
    append(w, o, change(old), m, &carried);
    if (w.tracing())
        w.trace("%s.%s %s 0x%llx -> 0x%llx", w.name_of(o).c_str(), what, name_of(m),
                static_cast<unsigned long long>(old), static_cast<unsigned long long>(store_of(o, 0).value));
    return old;
}

/// A failed compare-exchange is a load, and may read an old value as any other load.
inline bool compare_exchange(world& w, object& o, std::uint64_t& expected, std::uint64_t value, order ok, order fail,
                             bool weak) noexcept {
    w.access(o);
    unsigned back = 0;
    const unsigned n = readable(w, o, fail);
    if (n > 1) {
        unsigned old[max_history] = {0};
        unsigned choices = 1;
        for (unsigned i = 1; i < n; ++i)
            if (store_of(o, i).value != expected) old[choices++] = i;
        if (choices > 1) back = old[w.choose_store(choices)];
    }
    store_record& s = store_of(o, back);
    if (back == 0 && s.value == expected && !(weak && w.spurious())) {
        modify(w, o, ok, weak ? "cas_weak" : "cas", [value](std::uint64_t) { return value; });
        return true;
    }
    note_read(w, s, fail);
    if (w.tracing())
        w.trace("%s.%s %s failed: 0x%llx, expected 0x%llx%s", w.name_of(o).c_str(), weak ? "cas_weak" : "cas",
                name_of(fail), static_cast<unsigned long long>(s.value), static_cast<unsigned long long>(expected),
                back != 0 ? " (stale)" : "");
    expected = s.value;
    return false;
}

}}} // namespace cmwq::CMWQ_NS::detail::model
