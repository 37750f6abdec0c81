// SPDX-License-Identifier: BSL-1.0
//
// The simulated machine: its threads, and the order in which its CPUs make their steps. Only files that are compiled
// without reports include this header.
#pragma once

#include <counting/arena.hpp>
#include <counting/lines.hpp>
#include <counting/machine.hpp>
#include <model/fiber.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

enum class thread_state : unsigned char { ready, running, blocked, finished };

struct simulated_thread {
    // The engine uses these as a thread uses its thread-local memory, so they have lines of their own.
    alignas(cache_line) thread_slots slots;

    alignas(cache_line) unsigned id = 0;
    unsigned cpu = 0; ///< where it runs, or ran last
    cpu_mask allowed;
    rank importance = rank::normal;
    thread_state state = thread_state::ready;
    bool timed_out = false;
    std::int64_t deadline = never;
    std::int64_t ready_at = 0, began_at = 0, cpu_time = 0, wait_time = 0;
    const void* waits_for = nullptr;

    phase now_in = phase::rest;
    std::uint64_t atomics = 0;                                     ///< how many atomic accesses it has made
    std::array<std::vector<std::uintptr_t>, nr_phases> step_lines; ///< the lines of the present step of each phase

    std::vector<const void*> callers; ///< the return addresses of the functions that it has entered

    char name[16] = "";
    std::uintptr_t stack_top = 0;
    std::function<void()> body;
    model::fiber context;
};

/// A kind of access that the compiler reports.
enum class access_kind : unsigned char { read, write, atomic_read, atomic_write, locked };

/// An instruction that accesses memory: the address behind its call of the machine, and the return addresses of its
/// function and of the caller of that. In different phases it counts as different sites.
struct site_key {
    std::array<const void*, 3> code;
    phase in;

    friend bool operator==(const site_key&, const site_key&) = default;
};

struct site_hash {
    std::size_t operator()(const site_key& k) const noexcept {
        auto h = static_cast<std::uintptr_t>(k.in);
        for (const void* c : k.code) h = (h ^ reinterpret_cast<std::uintptr_t>(c)) * 0x9e3779b97f4a7c15u;
        return h ^ (h >> 32);
    }
};

struct site_counts {
    std::uint64_t transfers = 0, locked = 0, lock_waits = 0, lines = 0;
};

/// One run. Each CPU has a clock, and of all CPUs that have something to do, the one with the earliest clock makes the
/// next step, up to its next atomic access. All of it happens on one OS thread.
class scheduler {
public:
    explicit scheduler(const machine& m);
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// The running machine, while code of a simulated thread runs; null in code of the machine, and outside of a run.
    [[nodiscard]] static scheduler* current() noexcept { return inside_ ? nullptr : active_; }
    /// The last machine that has run, or runs.
    [[nodiscard]] static scheduler* last() noexcept { return last_.get(); }

    /// Code of the machine, called by a simulated thread: it is not counted, and its memory is not from the arena.
    class section {
    public:
        section() noexcept { inside_ = true; }
        ~section() { inside_ = false; }
        section(const section&) = delete;
        section& operator=(const section&) = delete;
    };

    static outcome simulate(const machine& m, std::function<void()> body);

    // --- called in a section -----------------------------------------------------------------------------------------

    void access(std::uintptr_t address, std::size_t size, access_kind k, const void* code) noexcept;
    /// Called before an atomic access: CPUs whose clocks are behind make their steps first.
    void take_turn() noexcept;
    /// Time passes on the CPU of the running thread.
    void spend(std::int64_t ns) noexcept { cpu_of_self().clock += ns; }
    /// Time passes on each other CPU that runs a thread.
    void interrupt_others(std::int64_t ns) noexcept;

    simulated_thread& start(std::function<void()> body, const cpu_mask& allowed);
    void join(simulated_thread& t) noexcept;
    /// Blocks the running thread until wake() or the deadline. False: the deadline has passed.
    bool block(const void* on, std::int64_t deadline) noexcept;
    /// Wakes the thread that has waited longest for `on`. False: none waits.
    bool wake_first(const void* on) noexcept;
    void yield() noexcept;
    bool bind(const cpu_mask& cpus) noexcept;
    void set_rank(simulated_thread& t, rank r) noexcept;

    void begin_measuring() noexcept;
    void end_measuring() noexcept { measuring_ = false; }
    void enter(phase p) noexcept;
    void lock_waited(std::int64_t ns, const void* code) noexcept;
    [[nodiscard]] counts* counted_now() noexcept {
        return measuring_ ? &of_phase_[static_cast<std::size_t>(self_->now_in)] : nullptr;
    }
    [[nodiscard]] const counts& of(phase p) const noexcept { return of_phase_[static_cast<std::size_t>(p)]; }
    [[nodiscard]] const std::unordered_map<site_key, site_counts, site_hash>& sites() const noexcept { return sites_; }

    [[nodiscard]] simulated_thread& self() noexcept { return *self_; }
    [[nodiscard]] std::int64_t now() noexcept { return cpu_of_self().clock; }
    [[nodiscard]] const machine& options() const noexcept { return m_; }
    [[nodiscard]] std::int64_t cpu_time_of(const simulated_thread& t) const noexcept;
    [[noreturn]] void fail(const std::string& why) noexcept;

private:
    static constexpr std::size_t nr_ranks = 4;
    static constexpr std::int64_t start_of_time = 1'000'000'000; // not 0, because 0 means "not set"

    struct cpu {
        unsigned number = 0;
        std::int64_t clock = start_of_time;
        std::int64_t slice_began = 0;
        simulated_thread* running = nullptr;
        bool preempted = false; ///< its running thread, which makes the present step, gives way after the step
        std::array<std::deque<simulated_thread*>, nr_ranks> ready;
    };

    [[nodiscard]] cpu& cpu_of_self() noexcept { return cpus_[self_->cpu]; }
    static void enter_thread();
    [[nodiscard]] site_counts& site_of(const void* code) noexcept;
    void touch(std::uintptr_t address, bool write, counts* to, const void* code) noexcept;
    [[nodiscard]] bool is_idle(unsigned cpu_number, rank for_rank) const noexcept;
    [[nodiscard]] unsigned place(const simulated_thread& t, unsigned near) const noexcept;
    void make_ready(simulated_thread& t, std::int64_t at, unsigned near) noexcept;
    void wake(simulated_thread& t, std::int64_t at, unsigned near) noexcept;
    void queue(cpu& c, simulated_thread& t, bool in_front) noexcept;
    [[nodiscard]] static int highest_ready(const cpu& c) noexcept;
    void elect(cpu& c) noexcept;
    void stop_running(cpu& c) noexcept;
    void reschedule() noexcept;
    [[noreturn]] void leave() noexcept;
    [[nodiscard]] std::string states() const;

    const machine m_;
    std::deque<cpu> cpus_;
    std::vector<std::unique_ptr<simulated_thread>> threads_;
    std::set<std::pair<std::int64_t, unsigned>> steps_;  // the CPUs that have something to do, but the present one
    std::set<std::pair<std::int64_t, unsigned>> timers_; // the threads that wait for a deadline
    std::unordered_map<const void*, std::deque<simulated_thread*>> waiting_;
    simulated_thread* self_ = nullptr;
    unsigned nr_finished_ = 0;
    std::string failure_;
    model::fiber outside_;

    lines lines_;
    bool measuring_ = false;
    std::array<counts, nr_phases> of_phase_;
    std::unordered_map<site_key, site_counts, site_hash> sites_;

    static inline scheduler* active_ = nullptr;
    static inline std::unique_ptr<scheduler> last_;
    static inline bool inside_ = false;
};

}}} // namespace cmwq::CMWQ_NS::detail::counting
