// SPDX-License-Identifier: BSL-1.0
//
// worker_set: the threads of a pool. How workers are created, go idle, and end.
#pragma once

#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/engine/ledger/item_pool.hpp>
#include <cmwq/detail/engine/threads/concurrency.hpp>
#include <cmwq/detail/engine/threads/idle_workers.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class managed_workers;

/// A pool with threads. Thread safety: as item_pool. Letters as in worker.hpp; ST is the manager thread.
class worker_set : public item_pool {
public:
    /// `one_cpu`: the pool of one CPU, for bound queues. `attributes`: queues with equal attributes share the pool.
    enum class serves : bool { one_cpu, attributes };

    /// Whether it is the pool of one CPU.
    [[nodiscard]] bool is_per_cpu() const noexcept { return is_per_cpu_; }
    /// The attributes of the threads. The pool must have a user.
    [[nodiscard]] const pool_spec& spec() const noexcept { return spec_; }
    [[nodiscard]] worker_counts summary() const noexcept CMWQ_EXCLUDES(ledger.lock) {
        const scoped_lock g(ledger.lock);
        return worker_counts_locked();
    }
    /// This pool, if it is of a kind that replaces blocked workers; otherwise null.
    [[nodiscard]] virtual managed_workers* as_managed() noexcept { return nullptr; }

    // --- the manager thread --------------------------------------------------------------------------------------------

    /// Whether a worker has been requested since the last call.
    [[nodiscard]] bool take_request() noexcept {
        // [ASK-1] The relaxed load may miss a request: the permit of the requesting thread (PARK-1) then leads to
        // another call.
        return wanted_.load(relaxed) && wanted_.exchange(false, seq_cst);
    }
    /// Wakes a worker, or creates one, if the pool needs one more. False: no worker could be created.
    bool ensure_worker() noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Asks an idle worker to end, so that another pool can create one within the limit of threads. False: the pool
    /// needs its idle workers, has none, or is locked. `spare`: may also take the last idle worker of a pool in which
    /// others run.
    [[nodiscard]] bool give_up_worker(bool spare) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Asks surplus workers to end that have been idle for too long. Returns when to call again, 0: not needed; clock
    /// of the runtime.
    std::int64_t cull(std::int64_t now) noexcept CMWQ_EXCLUDES(ledger.lock);
    [[nodiscard]] std::int64_t cull_at() const noexcept { return cull_at_.load(acquire); } // [LOCK]
    /// The manager thread has joined the thread of `w`: the record can serve another thread. False: the pool is locked;
    /// call again later.
    [[nodiscard]] bool thread_is_gone(worker& w) noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Asks all workers to end. The pool has no queue any more, for good or until the next `configure()`, which
    /// requires that `has_ended()` returns true.
    void end_threads() noexcept CMWQ_EXCLUDES(ledger.lock);
    /// Whether all threads have been joined after `end_threads()`.
    [[nodiscard]] bool has_ended() const noexcept CMWQ_EXCLUDES(ledger.lock) {
        if (!ledger.lock_for_service()) return false;
        const scoped_lock g(ledger.lock, adopt_lock);
        return nr_live_ == 0 && !creating_;
    }

    // --- ~runtime(), after `end_threads()` ---------------------------------------------------------------------------

    /// Waits until no worker is being created. Then takes the threads out of the idle class, where that is allowed.
    void let_threads_end() noexcept CMWQ_EXCLUDES(ledger.lock);
    /// After that: joins all threads.
    void join_threads() noexcept;
    /// For a forked child, where the threads do not exist.
    void forget_threads() noexcept CMWQ_NO_TSA;

protected:
    worker_set(const pool_env& env, std::uint64_t id, unsigned number, serves what) noexcept
        : item_pool(env, id, number), is_per_cpu_(what == serves::one_cpu) {}

    /// Sets the attributes of the threads. Called before the first use, and again when the registry reuses the record
    /// of a pool that has ended. `spec` is exchanged for the former attributes, which the caller frees without the
    /// lock.
    void set_spec_locked(pool_spec& spec) noexcept CMWQ_REQUIRES(ledger.lock);

    // --- what differs between managed and unmanaged workers, off the path of an item ---------------------------------

    [[nodiscard]] virtual pool_snapshot current_snapshot_locked() const noexcept CMWQ_REQUIRES(ledger.lock) = 0;
    /// Items are pending behind running workers: makes sure that a detector notices if these block.
    virtual void watch_for_blocks() noexcept = 0;
    /// Called before a worker with a new record, the n-th one, is created. False: out of memory.
    [[nodiscard]] virtual bool reserve_record(std::size_t n) noexcept = 0;
    /// The loop of a worker's thread. Not noexcept: it runs items.
    virtual void serve(worker& self) = 0;

    // --- for the loop of a worker ------------------------------------------------------------------------------------

    static constexpr unsigned most_guests = 8; ///< threads of the program that may run tasks in the pool at once
    bool create_worker_locked() noexcept CMWQ_REQUIRES(ledger.lock);
    /// Makes the worker idle. `fresh`: its thread was just created and has not run an item.
    void enter_idle_locked(worker& w, bool fresh) noexcept CMWQ_REQUIRES(ledger.lock);
    void leave_idle_locked(worker& w) noexcept CMWQ_REQUIRES(ledger.lock);
    void retire_locked(worker& w) noexcept CMWQ_REQUIRES(ledger.lock);
    /// Requests a worker from the manager thread, unless an attempt to create one has just failed.
    void ask_for_worker() noexcept;
    /// A producer calls this after a push: reminds an idle worker, or requests one.
    void remind_worker() noexcept {
        if (worker* const idle = next_idle_.load(seq_cst); idle != nullptr) idle->sleep.remind(); // [IDLE-1]
        else ask_for_worker();
    }
    /// A detector calls this while items are pending: wakes an idle worker, or requests one. False: none is idle.
    bool wake_idle_worker() noexcept {
        worker* const idle = next_idle_.load(seq_cst); // [UNIFORM]
        if (idle != nullptr) idle->sleep.unpark();
        else ask_for_worker();
        return idle != nullptr;
    }
    void notify_locked(deferred& d) noexcept final CMWQ_REQUIRES(ledger.lock);
    [[nodiscard]] worker_counts worker_counts_locked() const noexcept override CMWQ_REQUIRES(ledger.lock) {
        return {.idle = idle_.size(),
                .workers = idle_.size() + ledger.nr_busy_locked(),
                .short_of_threads = short_of_threads_.load(relaxed),
                .refused = refused_};
    }
    [[nodiscard]] bool is_creating_or_short_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return creating_ || short_of_threads_.load(relaxed);
    }

    const bool is_per_cpu_;                // I
    pool_spec spec_;                       // I: constant while the pool has users
    atomic<worker*> next_idle_{nullptr};   // A: the idle worker to wake next; written under L
    atomic<bool> wanted_{false};           // A: a worker was requested because no idle worker could be woken
    atomic<bool> short_of_threads_{false}; // A: creation failed, or give_up_worker() took the last one; written under L
    atomic<std::int64_t> creating_since_{0};         // A: steady clock; 0: no worker is being created. Written under L
    atomic<bool> has_rescuable_{false};              // A: some pwqs have a rescuer; written under L
    idle_workers idle_ CMWQ_GUARDED_BY(ledger.lock); // L
    bool creating_ CMWQ_GUARDED_BY(ledger.lock) = false; // L: a worker is being created
    bool stopping_ CMWQ_GUARDED_BY(ledger.lock) = false; // L
    std::int64_t short_since_ CMWQ_GUARDED_BY(ledger.lock) =
        0; // L: when a lack of workers began to hold items up; steady clock, 0: no lack
    thread_refusals refused_ CMWQ_GUARDED_BY(ledger.lock); // L: what the system refused to the last worker that started

private:
    static void thread_main(void* self);
    template <class F>
    void for_each_worker(F&& f) const noexcept;
    void publish_next_idle_locked() noexcept CMWQ_REQUIRES(ledger.lock) {
        next_idle_.store(idle_.front(), seq_cst); // [IDLE-2]
    }
    [[nodiscard]] bool has_surplus_locked() const noexcept CMWQ_REQUIRES(ledger.lock) {
        return too_many_workers(
            {.active = static_cast<int>(ledger.nr_busy_locked()), .idle = static_cast<int>(idle_.size())});
    }
    void creation_failed_locked(bool admitted, int error) noexcept CMWQ_REQUIRES(ledger.lock);

    intrusive_list<worker, idle_tag> retired_ CMWQ_GUARDED_BY(ledger.lock); // L: records without a thread
    unsigned nr_records_ CMWQ_GUARDED_BY(ledger.lock) = 0;
    unsigned nr_live_ CMWQ_GUARDED_BY(ledger.lock) = 0;         // L: threads that were created and not joined yet
    std::int64_t retry_pause_ CMWQ_GUARDED_BY(ledger.lock) = 0; // L: nanoseconds between attempts to create a worker
    atomic<std::int64_t> retry_at_{0}; // A: no request before that time; steady clock, 0: no attempt has failed
    atomic<std::int64_t> cull_at_{0};  // A: when surplus workers are due to end; runtime clock, 0: there are none
};

}}} // namespace cmwq::CMWQ_NS::detail
