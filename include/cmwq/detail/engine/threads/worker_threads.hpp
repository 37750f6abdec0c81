// SPDX-License-Identifier: BSL-1.0
//
// worker_threads: how the workers of a pool are created, go idle, and end.
#pragma once

#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/engine/threads/load.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;
class group_task;

/// The loop of a pool's workers, for those that know no type of pool. Not noexcept: each member runs items.
class worker_loop {
public:
    worker_loop(const worker_loop&) = delete;
    worker_loop& operator=(const worker_loop&) = delete;

    /// The thread of a worker calls it; it returns when the thread may end.
    virtual void serve(worker& self) = 0;
    /// Runs an item on a rescuer's thread. The caller holds the lock of the pool, which is released meanwhile.
    virtual void run_rescued_locked(worker& record, work_base& w, deferred& d) = 0;
    /// For a thread of the program that waits for the group of `task`, and examines the task: runs it as one of the
    /// workers, and the tasks of the group that come next. `stack_end`: of that thread. `gone`: a worker has taken the
    /// task. `kept_back`: the limit keeps it back, or it is on a local list, or the pool has enough guests.
    enum class guest_result : unsigned char { has_run, gone, kept_back };
    virtual guest_result run_as_guest(group_task& task, std::uintptr_t stack_end) = 0;

protected:
    worker_loop() noexcept = default;
    ~worker_loop() = default;
};

/// The threads of a pool. Thread safety: as pool_ledger. Letters as in worker.hpp; ST is the manager thread.
class worker_threads {
public:
    /// `l`: of the pool; null: it does not replace blocked workers.
    worker_threads(item_pool& pool, worker_loop& loop, pool_ledger& ledger, spare_workers& spares,
                   busy_workers<worker>& working, load* l) noexcept
        : pool_(pool), loop_(loop), ledger_(ledger), spares_(spares), working_(working), load_(l) {}
    worker_threads(const worker_threads&) = delete;
    worker_threads& operator=(const worker_threads&) = delete;

    static constexpr unsigned most_guests = 8; ///< threads of the program that may run tasks in the pool at once

    /// Sets the attributes of the threads. Called before the first use, and again when the registry reuses the record
    /// of a pool that has ended. `spec` is exchanged for the former attributes, which the caller frees without the
    /// lock.
    void configure_locked(pool_ledger& ledger, pool_spec& spec) noexcept CMWQ_REQUIRES(ledger.lock);
    /// The attributes of the threads. The pool must have a user.
    [[nodiscard]] const pool_spec& spec() const noexcept { return spec_; }
    [[nodiscard]] worker_counts counts_locked(const pool_ledger& ledger) const noexcept CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] pool_snapshot snapshot_locked(const pool_ledger& ledger) const noexcept CMWQ_REQUIRES(ledger.lock);
    /// As pool_owner::notify_locked().
    void notify_locked(const pool_ledger& ledger, deferred& d) noexcept CMWQ_REQUIRES(ledger.lock);

    /// The loop of the workers.
    [[nodiscard]] worker_loop& loop() const noexcept { return loop_; }
    /// For the monitor: wakes an idle worker, or requests one. False: none is idle.
    bool wake() noexcept { return spares_.wake(); }

    // --- the manager thread ------------------------------------------------------------------------------------------

    /// Whether a worker has been requested since the last call.
    [[nodiscard]] bool take_request() noexcept { return spares_.take_request(); }
    /// Wakes a worker, or creates one, if the pool needs one more. False: no worker could be created.
    bool ensure_worker() noexcept;
    /// The last idle worker of a pool in which others run is its spare.
    enum class idle_worker : unsigned char { one_of_several, surplus, last_spare };
    /// Asks an idle worker to end, so that another pool can create one within the limit of threads. False: the pool
    /// needs its idle workers, has none, or is locked.
    [[nodiscard]] bool give_up_worker(idle_worker which) noexcept;
    /// Asks surplus workers to end that have been idle for too long. Returns when to call again, 0: not needed; clock
    /// of the runtime.
    std::int64_t cull(std::int64_t now) noexcept;
    [[nodiscard]] std::int64_t cull_at() const noexcept { return cull_at_.load(acquire); } // [LOCK]
    /// The manager thread has joined the thread of `w`: the record can serve another thread. False: the pool is locked;
    /// call again later.
    [[nodiscard]] bool thread_is_gone(worker& w) noexcept;
    /// Asks all workers to end. The pool has no queue any more, for good or until the next configuration, which
    /// requires that `have_ended()` returns true.
    void end() noexcept;
    /// Whether all threads have been joined after `end()`.
    [[nodiscard]] bool have_ended() const noexcept;

    // --- ~runtime(), after `end()` -----------------------------------------------------------------------------------

    /// Waits until no worker is being created. Then takes the threads out of the idle class, where that is allowed.
    void let_end() noexcept;
    /// After that: joins all threads.
    void join() noexcept;
    /// For a forked child, where the threads do not exist.
    void forget() noexcept CMWQ_NO_TSA;

    // --- the loop of a worker ----------------------------------------------------------------------------------------

    /// Creates a worker and makes it idle. Releases the lock meanwhile. False: no worker could be created. `why`:
    /// counts it.
    bool create_locked(pool_ledger& ledger, std::uint64_t pool_growth::* why) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Of the calling thread.
    void enter_idle_locked(worker& w) noexcept;
    void leave_idle_locked(worker& w) noexcept;
    void retire_locked(worker& w) noexcept;
    [[nodiscard]] bool is_creating_locked() const noexcept { return creating_; }
    [[nodiscard]] bool is_stopping_locked() const noexcept { return stopping_; }
    void set_refused_locked(const thread_refusals& r) noexcept { refused_ = r; }
    /// A record for a guest. Releases the lock meanwhile if it has to make one. Null: as many threads are guests as may
    /// be, or no memory.
    [[nodiscard]] worker* guest_record_locked(pool_ledger& ledger) noexcept CMWQ_REQUIRES(ledger.lock);
    void give_back_guest_record_locked(worker& w) noexcept { free_guest_records_.push_front(w); }

    // --- for the rescuers --------------------------------------------------------------------------------------------

    /// Whether the pool may need a rescuer. Without the lock only a hint.
    [[nodiscard]] bool are_lacking() const noexcept {
        return is_short() || (spares_.is_rescuable() && (creating_since_.load(relaxed) != 0 || spares_.is_requested()));
    }
    /// A worker is needed and could not be created.
    [[nodiscard]] bool is_short() const noexcept { return short_of_threads_.load(relaxed); }
    /// When a lack of workers began to hold items up, `now` if it begins now; steady clock.
    [[nodiscard]] std::int64_t short_since_locked(std::int64_t now) noexcept;
    void not_short_locked() noexcept { short_since_ = 0; }

private:
    static void thread_main(void* self);
    void wake_one_locked(deferred& d) noexcept;
    void enter_idle_as_locked(worker& w, spare_workers::place where) noexcept;
    void watch_for_blocks() noexcept;
    template <class F>
    void for_each(F&& f) const noexcept;
    [[nodiscard]] bool has_surplus_locked() const noexcept;
    void creation_failed_locked(bool admitted, int error) noexcept;

    // A worker reads the first members for each item.
    bool creating_ = false;                // L: a worker is being created
    bool stopping_ = false;                // L
    atomic<bool> short_of_threads_{false}; // A: creation failed, or give_up_worker() took the last one; written under L
    pool_spec spec_;                       // I: constant while the pool has users
    item_pool& pool_;                      // I
    worker_loop& loop_;                    // I
    pool_ledger& ledger_;                  // I
    spare_workers& spares_;                // I
    busy_workers<worker>& working_;        // I
    load* const load_;                     // I
    atomic<std::int64_t> creating_since_{0}; // A: steady clock; 0: no worker is being created. Written under L
    std::int64_t short_since_ = 0; // L: when a lack of workers began to hold items up; steady clock, 0: no lack
    thread_refusals refused_;      // L: what the system refused to the last worker that started
    intrusive_list<worker, idle_tag> retired_;            // L: records without a thread
    intrusive_list<worker, idle_tag> free_guest_records_; // L
    unsigned nr_guest_records_ = 0;                       // L
    unsigned nr_records_ = 0;                             // L
    unsigned nr_live_ = 0;                                // L: threads that were created and not joined yet
    pool_growth made_;                                    // L
    std::int64_t retry_pause_ = 0;                        // L: nanoseconds between attempts to create a worker
    atomic<std::int64_t> cull_at_{0}; // A: when surplus workers are due to end; runtime clock, 0: there are none
};

}}} // namespace cmwq::CMWQ_NS::detail
