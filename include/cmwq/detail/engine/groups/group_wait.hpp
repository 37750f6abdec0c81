// SPDX-License-Identifier: BSL-1.0
//
// group_wait: a thread that waits for a task group, and may run tasks of it.
#pragma once

#include <cmwq/detail/api/group_core.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/waits/group_sleeper.hpp>
#include <cmwq/detail/engine/waits/wait_graph.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// One thread that waits for a group.
class group_wait {
public:
    /// Throws if the calling thread must not wait.
    group_wait(group_core& g, wait_call by);
    group_wait(const group_wait&) = delete;
    group_wait& operator=(const group_wait&) = delete;
    ~group_wait() = default;

    /// Waits. Returns whether every task has run. Throws the first exception of a task, and std::system_error if the
    /// wait could never end and `by` may throw.
    bool wait();
    /// Whether wait() has thrown because it could never end.
    [[nodiscard]] bool refused() const noexcept { return refused_; }

    /// Throws std::system_error if a thread that runs an item under `self` must not wait for the group.
    static void check(const group_core& g, const run_record* self);

private:
    struct next_step {
        bool search = false;        ///< for unlisted tasks
        group_task* task = nullptr; ///< take it; null: sleep
        bool local = false;         ///< it has been taken off the list of the worker
        bool as_guest = false;      ///< it is still on the list
        bool cancelled = false;
    };
    [[nodiscard]] bool may_take(const group_task& t) const noexcept;
    [[nodiscard]] next_step decide_locked(group_sleeper& s) noexcept CMWQ_REQUIRES(g_.lock);
    [[nodiscard]] group_task* task_for_guest_locked() noexcept CMWQ_REQUIRES(g_.lock);
    void list_all_locked() noexcept CMWQ_REQUIRES(g_.lock);
    void list_all_no_more_locked() noexcept CMWQ_REQUIRES(g_.lock);
    [[nodiscard]] bool must_search_locked() const noexcept CMWQ_REQUIRES(g_.lock);
    void search() noexcept;
    void list_unlisted_locked(work_base& w) noexcept CMWQ_REQUIRES(g_.lock);
    [[nodiscard]] bool run_unlisted() noexcept;
    [[nodiscard]] bool is_alone() const noexcept;
    void watch_locked() noexcept CMWQ_REQUIRES(g_.lock);
    void sleep(group_sleeper& s);
    void give_up(group_sleeper& s) noexcept;
    void run(group_task& t, bool cancelled) noexcept;
    [[nodiscard]] static bool has_priority_of_workers(const pool_env& env) noexcept;
    [[nodiscard]] static std::uintptr_t own_stack_end() noexcept;
    [[nodiscard]] bool run_as_guest(group_task& t);

    [[nodiscard]] group_sleeper::kind kind() const noexcept {
        using kind = group_sleeper::kind;
        if (stack_end_ != not_a_guest) return kind::guest;
        if (!helps_) return stuck_ ? kind::stuck : kind::waits;
        return g_.queue.keyed() ? kind::helps_all : kind::helps_pool;
    }

    group_core& g_;
    const wait_call by_;
    run_record* const self_;
    static constexpr std::uintptr_t not_a_guest = ~std::uintptr_t{0};
    std::uintptr_t stack_end_ = not_a_guest; // of a thread that runs no item, and may run tasks as a worker does
    int nr_kept_back_ = 0;                   // of a guest: how many tasks in a row the limit has kept back
    bool helps_ = false;                     // runs tasks itself
    bool stuck_ = false;     // may not run tasks itself: its stack is too deep, or it holds bottom halves back
    bool counted_ = false;   // in nr_stuck
    bool lists_all_ = false; // in nr_listing
    bool refused_ = false;   // would never end
};

}}} // namespace cmwq::CMWQ_NS::detail
