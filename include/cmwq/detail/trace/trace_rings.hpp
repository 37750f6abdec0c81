// SPDX-License-Identifier: BSL-1.0
//
// trace_rings: the rings of a tracer, one for each thread in which something has happened.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/detail/trace/trace_ring.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A list that only grows. A ring serves another thread when its owner has ended.
class trace_rings {
public:
    explicit trace_rings(std::size_t events_per_thread) noexcept : capacity_(events_per_thread) {}
    trace_rings(const trace_rings&) = delete;
    trace_rings& operator=(const trace_rings&) = delete;
    ~trace_rings() {
        for (trace_ring* r = first_.load(relaxed); r != nullptr;) delete std::exchange(r, r->next);
    }

    /// Any thread. Null: there is no memory for another ring.
    trace_ring* of_this_thread() noexcept {
        cached& c = cache();
        if (c.rings != id_) {
            // Making a ring calls operator new of the program, which may queue items.
            if (std::exchange(c.busy, true)) return nullptr;
            c.ring = find_or_make();
            c.rings = c.ring != nullptr ? id_ : 0;
            c.busy = false;
        }
        return c.ring;
    }

    /// The reader. Calls `f(trace_ring&)` for each.
    template <class F>
    void for_each(const F& f) {
        for (trace_ring* r = first_.load(acquire); r != nullptr; r = r->next) f(*r); // [TRACE-1]
    }

private:
    // The ring that a thread has found last. The id tells whether it belongs to these rings, whose address may be used
    // again.
    struct cached {
        std::uint64_t rings = 0;
        trace_ring* ring = nullptr;
        bool busy = false;
    };
    static cached& cache() noexcept {
        static constinit thread_local cached c;
        return c;
    }
    static std::uint64_t next_id() noexcept {
        static constinit atomic<std::uint64_t> last{0};
        return last.fetch_add(1, relaxed) + 1;
    }

    trace_ring* find_or_make() noexcept {
        const long tid = this_thread_id();
        trace_ring* const first = first_.load(acquire); // [TRACE-1]
        for (trace_ring* r = first; r != nullptr; r = r->next) {
            if (r->tid() == tid) return r;
        }
        for (trace_ring* r = first; r != nullptr; r = r->next) {
            if (r->tid() == 0 && r->claim(tid)) return r;
        }
        try {
            auto* const made = new trace_ring(capacity_, tid);
            made->next = first_.load(relaxed);
            while (!first_.compare_exchange_weak(made->next, made, release, relaxed)) {} // [TRACE-1]
            return made;
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    const std::uint64_t id_ = next_id();
    const std::size_t capacity_;
    atomic<trace_ring*> first_{nullptr};
};

}}} // namespace cmwq::CMWQ_NS::detail
