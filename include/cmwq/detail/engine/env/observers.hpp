// SPDX-License-Identifier: BSL-1.0
//
// observers: those of a runtime.
#pragma once

#include <cmwq/detail/base/statistic.hpp>
#include <cmwq/detail/ds/grace_period.hpp>
#include <cmwq/detail/sync/this_thread.hpp>
#include <cmwq/observer.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// A list that threads walk without a lock. Any thread may call every member that does not say otherwise.
///
/// Letters: A atomic · CF written under the configuration lock
class observers {
public:
    observers() : readers_(nr_stripes) {}
    observers(const observers&) = delete;
    observers& operator=(const observers&) = delete;
    ~observers() {
        for (entry* e = first_.load(relaxed); e != nullptr;) delete std::exchange(e, e->next.load(relaxed));
    }

    /// Whether there are any. A hint.
    [[nodiscard]] bool any() const noexcept { return any_.get(); }
    /// Calls f(observer&) for each. The calling thread may hold any lock.
    template <class F>
    void tell(const F& f) noexcept {
        const grace_reader inside(readers_, current_cpu() % nr_stripes);
        bool& tells = this_thread_slots().tells_observers;
        const bool outer = std::exchange(tells, true);
        for (entry* e = first_.load(seq_cst); e != nullptr; e = e->next.load(seq_cst)) f(e->who); // [GRACE-1], [OBS-1]
        tells = outer;
    }
    /// Whether the calling thread is inside tell(), of any runtime.
    [[nodiscard]] static bool tells() noexcept { return this_thread_slots().tells_observers; }

    // --- under the configuration lock, not inside tell() -------------------------------------------------------------

    [[nodiscard]] bool contains(const observer& o) const noexcept {
        const entry* e = first_.load(relaxed);
        while (e != nullptr && &e->who != &o) e = e->next.load(relaxed);
        return e != nullptr;
    }
    /// Throws std::bad_alloc.
    void add(observer& o) {
        auto* const e = new entry{o};
        e->next.store(first_.load(relaxed), relaxed);
        first_.store(e, seq_cst); // [OBS-1]
        any_.set(true);
    }
    /// Returns when no thread calls it any more. False: it is not on the list.
    bool remove(const observer& o) noexcept {
        atomic<entry*>* link = &first_;
        entry* e = link->load(relaxed);
        for (; e != nullptr && &e->who != &o; e = link->load(relaxed)) link = &e->next;
        if (e == nullptr) return false;
        link->store(e->next.load(relaxed), seq_cst); // [GRACE-2]; a reader at `e` can go on from it
        any_.set(first_.load(relaxed) != nullptr);
        readers_.wait();
        delete e;
        return true;
    }

private:
    static constexpr unsigned nr_stripes = 16;

    struct entry {
        observer& who;
        atomic<entry*> next{nullptr}; // A, CF
    };

    atomic<entry*> first_{nullptr}; // A, CF
    statistic<bool> any_;           // A, CF
    grace_period readers_;
};

}}} // namespace cmwq::CMWQ_NS::detail
