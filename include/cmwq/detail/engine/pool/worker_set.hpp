// SPDX-License-Identifier: BSL-1.0
//
// worker_set: the threads of a pool. How workers are created, idle, and end.
#pragma once

#include <cmwq/detail/engine/env/pool_spec.hpp>
#include <cmwq/detail/engine/pool/concurrency.hpp>
#include <cmwq/detail/engine/pool/idle_workers.hpp>
#include <cmwq/detail/engine/pool/item_pool.hpp>

#include <cstddef>
#include <cstdint>

namespace cmwq::inline CMWQ_NS::detail {

class managed_workers;

/// For dump().
struct pool_summary {
    std::size_t idle, workers;
    thread_refusals refused;
};

/// Letters as in worker.hpp; ST is the staff thread.
class worker_set : public item_pool {
public:
    enum class serves : bool { one_cpu, attributes };

    /// Whether it is the pool of one CPU, for bound queues; otherwise queues of equal attributes share it.
    [[nodiscard]] bool is_per_cpu() const noexcept { return is_per_cpu_; }
    /// Of a pool that has users.
    [[nodiscard]] const pool_spec& spec() const noexcept { return spec_; }
    [[nodiscard]] pool_summary summary() const noexcept CMWQ_EXCLUDES(lock_);
    /// Itself, if blocked workers are replaced; otherwise null.
    [[nodiscard]] virtual managed_workers* as_managed() noexcept { return nullptr; }

    // --- the staff thread --------------------------------------------------------------------------------------------

    /// Whether a worker has been asked for since the last call.
    [[nodiscard]] bool take_request() noexcept {
        // [ASK-1] The first look may come too early: the permit of the asking thread (PARK-1) brings another one.
        return wanted_.load(relaxed) && wanted_.exchange(false, seq_cst);
    }
    /// Creates a worker if something is pending and no worker is there to run it. False: that cannot be done.
    bool ensure_worker() noexcept CMWQ_EXCLUDES(lock_);
    /// Ends an idle worker, so that another pool can have one within the limit of threads. False: it needs its own.
    /// `spare`: also the last one of a pool in which others run.
    [[nodiscard]] bool give_up_worker(bool spare) noexcept CMWQ_EXCLUDES(lock_);
    /// Tells workers to end that have been idle for too long. Returns when to look again, 0 for not at all; runtime clock.
    std::int64_t cull(std::int64_t now) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] std::int64_t cull_at() const noexcept { return cull_at_.load(acquire); } // [LOCK]
    /// The staff thread has joined that thread: its record can serve another one. False: not now, to be repeated.
    [[nodiscard]] bool thread_is_gone(worker& w) noexcept CMWQ_EXCLUDES(lock_);
    /// No queue is left: tells all workers to end. For good, or until `configure()`, when `has_ended()`.
    void end_threads() noexcept CMWQ_EXCLUDES(lock_);
    /// Whether all threads of a pool are gone that have been told to end.
    [[nodiscard]] bool has_ended() const noexcept CMWQ_EXCLUDES(lock_) {
        if (!lock_for_service()) return false;
        const scoped_lock g(lock_, adopt_lock);
        return nr_live_ == 0 && !creating_;
    }

    // --- ~runtime(), behind `end_threads()` --------------------------------------------------------------------------

    /// They leave the idle class, where that is allowed.
    void let_threads_end() noexcept CMWQ_EXCLUDES(lock_);
    /// Behind that: waits until all are gone.
    void join_threads() noexcept;
    /// In a forked child: the threads do not exist.
    void forget_threads() noexcept CMWQ_NO_TSA;

protected:
    worker_set(const pool_env& env, std::uint64_t id, unsigned number, serves what) noexcept
        : item_pool(env, id, number, kind::threads), is_per_cpu_(what == serves::one_cpu) {}

    /// Sets what its threads are. Before its first use, and again when the registry gives the record of a pool that has ended
    /// to another one. `spec` is exchanged for the former one, to be freed without the lock.
    void set_spec_locked(pool_spec& spec) noexcept CMWQ_REQUIRES(lock_);

    // --- what differs between managed and unmanaged workers, off the path of an item ---------------------------------

    [[nodiscard]] virtual pool_snapshot current_snapshot_locked() const noexcept CMWQ_REQUIRES(lock_) = 0;
    /// Something waits behind running workers: a detector is to notice if they block.
    virtual void watch_for_blocks() noexcept = 0;
    /// Before a worker is created whose record is new, as the n-th one. False: there is no memory.
    [[nodiscard]] virtual bool reserve_record(std::size_t n) noexcept = 0;
    /// The body of a worker's thread. Not noexcept: it runs items.
    virtual void serve(worker& self) = 0;

    // --- for the loop of a worker ------------------------------------------------------------------------------------

    bool create_worker_locked() noexcept CMWQ_REQUIRES(lock_);
    void enter_idle_locked(worker& w, bool fresh) noexcept CMWQ_REQUIRES(lock_);
    void leave_idle_locked(worker& w) noexcept CMWQ_REQUIRES(lock_);
    void retire_locked(worker& w) noexcept CMWQ_REQUIRES(lock_);
    void ask_for_worker() noexcept;
    void notify_locked(deferred& d) noexcept final CMWQ_REQUIRES(lock_);
    void released_locked(deferred& d) noexcept final CMWQ_REQUIRES(lock_) { notify_locked(d); }
    [[nodiscard]] staffing staffing_locked() const noexcept final CMWQ_REQUIRES(lock_) {
        return {.idle = idle_.size(), .short_of_threads = short_of_threads_.load(relaxed)};
    }
    [[nodiscard]] bool is_creating_or_short_locked() const noexcept CMWQ_REQUIRES(lock_) {
        return creating_ || short_of_threads_.load(relaxed);
    }

    const bool is_per_cpu_;                        // I
    pool_spec spec_;                               // I: while the pool has users
    atomic<worker*> next_idle_{nullptr};           // A: the idle worker to wake first; written under L
    atomic<bool> wanted_{false};                   // A: a producer found nobody to wake
    atomic<bool> short_of_threads_{false};         // A: the last attempt to create a worker failed; written under L
    atomic<std::int64_t> creating_since_{0};       // A: steady clock; 0: no worker is being created. Written under L
    atomic<bool> has_rescuable_{false};            // A: some pwqs have a rescuer; written under L
    idle_workers idle_ CMWQ_GUARDED_BY(lock_);     // L
    bool creating_ CMWQ_GUARDED_BY(lock_) = false; // L: a worker is being created
    bool stopping_ CMWQ_GUARDED_BY(lock_) = false; // L
    std::int64_t short_since_ CMWQ_GUARDED_BY(lock_) =
        0;                                           // L: since when a lack of workers holds items up; steady clock
    thread_refusals refused_ CMWQ_GUARDED_BY(lock_); // L: what the system refused to its last worker

private:
    static void thread_main(void* self);
    void publish_next_idle_locked() noexcept CMWQ_REQUIRES(lock_) {
        next_idle_.store(idle_.front(), seq_cst); // [IDLE-2]
    }
    void make_room_for_runs(std::size_t nr_workers) noexcept CMWQ_EXCLUDES(lock_);
    [[nodiscard]] bool has_surplus_locked() const noexcept CMWQ_REQUIRES(lock_) {
        return too_many_workers({.active = static_cast<int>(busy_.size()), .idle = static_cast<int>(idle_.size())});
    }
    void creation_failed_locked(bool admitted, int error) noexcept CMWQ_REQUIRES(lock_);

    intrusive_list<worker, idle_tag> retired_ CMWQ_GUARDED_BY(lock_); // L: records without a thread
    unsigned nr_records_ CMWQ_GUARDED_BY(lock_) = 0;
    unsigned nr_live_ CMWQ_GUARDED_BY(lock_) = 0;         // L: threads that have been created and not been joined
    std::int64_t retry_pause_ CMWQ_GUARDED_BY(lock_) = 0; // L: from the last failed attempt to the next one
    atomic<std::int64_t> retry_at_{0}; // A: nobody asks for a worker before; steady clock, 0: no attempt has failed
    atomic<std::int64_t> cull_at_{0};  // A: when surplus workers are due, runtime clock; 0: there are none
};

} // namespace cmwq::inline CMWQ_NS::detail
