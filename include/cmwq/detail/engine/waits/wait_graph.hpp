// SPDX-License-Identifier: BSL-1.0
//
// The graph of waits: which items wait inside of the library, for what, and whether they wait for each other. Threads
// that run no item are not in it: nobody depends on them. docs/architecture.md tells how deadlocks are found.
#pragma once

#include <cmwq/detail/engine/item/work_access.hpp>
#include <cmwq/detail/engine/pool/worker.hpp>
#include <cmwq/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

namespace cmwq::inline CMWQ_NS::detail {

struct pool_env;
class queue_core;
class wait_look;
struct seen_wait;
struct wait_tag;

/// A call that waits.
struct wait_call {
    const char* name; ///< in diagnoses
    bool may_throw;   ///< instead of waiting for ever
    bool of_pending;  ///< it waits not only for what runs: threads are needed for that
};

/// An item, as it is named: by its address, null if it is gone, and its function. The address is never followed.
struct item_name {
    const void* item = nullptr;
    work_access::function function = nullptr;
};

/// For `w`, which is there.
inline item_name name_of(const work_base& w) noexcept { return {&w, work_access::run(w)}; }

/// What is told of a wait. Functions get their names only when no lock is held any more.
struct wait_report {
    item_name who;
    std::string queue;         ///< of the one who waits
    const char* call = "";     ///< what it waits in
    item_name item;            ///< for which item, unless it waits for a queue
    std::string awaited_queue; ///< if it waits for a queue
    std::string full_queue;    ///< it waits for what is pending behind the limit of this queue; empty: not so
    unsigned max_active = 0;   ///< that limit
    std::int64_t since = 0;    ///< steady clock
    std::size_t nr_more = 0;   ///< of the first one: how many others there are that are not told

    [[nodiscard]] bool for_item() const noexcept { return awaited_queue.empty(); }
};

/// One wait of an item for an item or for the items of a queue; lives on the stack of the thread that waits. Made when
/// everything to be waited for has been told to, and before the thread sleeps.
///
/// Letters: I set before it is entered · G the lock of the graph
class registered_wait : public list_node<wait_tag> {
public:
    /// Throws std::system_error(resource_deadlock_would_occur) if the wait would never end, and the call may throw; then
    /// `iw` and the nodes are not told any more. If it may not throw, that is reported.
    registered_wait(wait_call by, const item_name& item, item_waiter& iw, std::uint64_t pool_id);
    /// `n` of the queue's pwqs have something under way that is waited for.
    registered_wait(wait_call by, const queue_core& q, color_waiter* nodes, unsigned n);
    ~registered_wait();
    registered_wait(const registered_wait&) = delete;
    registered_wait& operator=(const registered_wait&) = delete;

private:
    friend class wait_graph;
    friend class wait_look;

    void enter();
    void check_rescue() noexcept;
    void stop_waiting() noexcept;

    const wait_call by_;              // I
    worker* const self_;              // I: the innermost run of the thread; null: it runs no item, and is not entered
    const item_name who_;             // I
    const item_name item_;            // I
    item_waiter* const iw_ = nullptr; // I: null: for a queue
    const std::uint64_t pool_id_ = 0; // I: where that was registered
    const queue_core* const queue_ = nullptr; // I
    color_waiter* const nodes_ = nullptr;     // I
    const unsigned nr_nodes_ = 0;             // I

    std::int64_t since_ = 0;           // G: steady clock
    std::int64_t suspected_since_ = 0; // G: the first of all looks since then that found it stuck; 0: the last did not
    bool reported_ = false;            // G
    registered_wait* link_ = nullptr;  // G: of the list that is being worked on
    registered_wait* from_ = nullptr;  // G: of a search: where it came from
    std::uint64_t mark_ = 0;           // G: the last search that has been here
    std::uint64_t seen_by_ = 0;        // G: the last look that has met it,
    seen_wait* seen_ = nullptr;        // G: and what that look keeps of it, as long as it lasts
};

/// All registered waits of the process. Its lock keeps everybody who is registered from going on; it is taken before all
/// others but the one of looks.
class wait_graph {
public:
    constexpr wait_graph() noexcept {}
    wait_graph(const wait_graph&) = delete;
    wait_graph& operator=(const wait_graph&) = delete;

    /// There from the start, and never destroyed: items may be destroyed after everything else.
    static constexpr wait_graph& of_this_copy() noexcept { return the_one_; }
    /// The one that is in use: copies of the library that know each other have one.
    static wait_graph& get() noexcept { return root_of(the_one_); }
    /// From here on all waits of both are in one.
    static void merge(wait_graph& a, wait_graph& b) noexcept CMWQ_NO_TSA;
    /// In a forked child, which has no waits: the parent's may be in any state, and so may the lock.
    void forget_all() noexcept CMWQ_NO_TSA {
        new (&looks_) ranked_mutex<lock_rank::looks>;
        new (&lock_) ranked_mutex<lock_rank::graph>;
        look_ = 0;
        next_to_see_ = nullptr;
        new (&waits_) intrusive_list<registered_wait, wait_tag>;
    }

    /// The diagnosis thread of the runtime of `env`: looks whether waits of its items are stuck, if it is time for that, and reports what
    /// has been found twice. Returns when to look again, steady clock; 0: when the next wait is registered.
    static std::int64_t look(const pool_env& env) noexcept;
    /// For dump(): the waits of its items, the oldest first. Throws std::bad_alloc.
    [[nodiscard]] std::vector<wait_report> waits_of(const pool_env& env) CMWQ_EXCLUDES(lock_);

private:
    friend class registered_wait;
    friend class wait_look;

    /// Not at once: most waits are short, and what is in between two states is not mistaken for stuck twice.
    static constexpr std::int64_t patience = 100'000'000;

    [[nodiscard]] static bool belongs_to(const registered_wait& r, const pool_env& env) noexcept;
    [[nodiscard]] registered_wait* find_cycle_locked(registered_wait& start) noexcept CMWQ_REQUIRES(lock_);
    void enlist_locked(registered_wait& r) noexcept CMWQ_REQUIRES(lock_);
    void delist_locked(registered_wait& r) noexcept CMWQ_REQUIRES(lock_);
    static void ask_for_look_locked(const registered_wait& r) noexcept;
    [[nodiscard]] static wait_report report_of_locked(const registered_wait& r);
    [[nodiscard]] std::vector<wait_report> report_cycle_locked(registered_wait& last) const CMWQ_REQUIRES(lock_);
    // Calls f(worker&) for the runs that wait themselves and without whose end the wait does not end. Not again for those
    // for which the search has done so.
    template <class F>
    static void for_each_waiting_run_locked(registered_wait& r, std::uint64_t search, F&& f) noexcept;

    static wait_graph& root_of(wait_graph& of) noexcept {
        wait_graph* g = &of;
        while (wait_graph* const next = g->merged_into_.load(acquire)) g = next; // [COPY-2]
        return *g;
    }
    /// get(), with its lock held.
    static wait_graph& get_locked() noexcept CMWQ_NO_TSA;
    void is_locked() const noexcept CMWQ_TSA(assert_capability(lock_)) {} // for the analysis

    static wait_graph the_one_;

    ranked_mutex<lock_rank::looks> looks_; // of a thread that looks: one at a time
    ranked_mutex<lock_rank::graph> lock_;
    std::uint64_t search_ CMWQ_GUARDED_BY(lock_) = 0;
    std::uint64_t nr_looks_ CMWQ_GUARDED_BY(lock_) = 0;
    std::uint64_t look_ CMWQ_GUARDED_BY(lock_) = 0;                          // the one that goes on; 0: none
    registered_wait* next_to_see_ CMWQ_GUARDED_BY(lock_) = nullptr;          // of that one
    intrusive_list<registered_wait, wait_tag> waits_ CMWQ_GUARDED_BY(lock_); // the newest first
    atomic<wait_graph*> merged_into_{nullptr};                               // written once, under both locks
};

inline constinit wait_graph wait_graph::the_one_;

} // namespace cmwq::inline CMWQ_NS::detail
