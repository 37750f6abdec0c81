// SPDX-License-Identifier: BSL-1.0
//
// The functions of the simulated machine, for the headers of overlay/ and for the programs that it runs. They are not
// inline, because code that includes this header is compiled so that it reports its accesses, and the machine must not
// count its own.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/detail/base/thread_slots.hpp>
#include <counting/costs.hpp>
#include <counting/counts.hpp>

#include <bitset>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

inline constexpr unsigned max_cpus = 256;
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

using cpu_mask = std::bitset<max_cpus>;

/// The scheduling class; a CPU serves higher ones first.
enum class rank : unsigned char { idle, normal, high, fifo };

/// The parts of the measured work of a thread. Each phase has its own counts.
enum class phase : unsigned char {
    rest,     ///< the helpers of the runtime, and the program itself
    queueing, ///< a call that queues an item
    running,  ///< a thread that runs items: taking, running and ending them, and waiting for the next
};
inline constexpr unsigned nr_phases = 3;

/// A thread of the machine: defined in scheduler.hpp.
struct simulated_thread;

// --- a run -----------------------------------------------------------------------------------------------------------

/// The options of a machine.
struct machine {
    unsigned cpus = 1;
    unsigned cpus_of_cache = 8; ///< a thread that is woken prefers an idle CPU of the same last-level cache
    costs time = {};
    std::int64_t longest = 60'000'000'000; ///< a run that takes more virtual time fails
};

struct outcome {
    std::string failure; ///< empty: there was none
    std::int64_t elapsed = 0;

    explicit operator bool() const noexcept { return failure.empty(); }
};

/// Runs `body` as a thread on CPU 0, until it and all threads that it has started have ended. A run that fails leaves
/// its memory and its threads behind.
outcome simulate(const machine& m, std::function<void()> body);

// --- for the programs ------------------------------------------------------------------------------------------------

/// Starts a thread that is bound to that CPU.
simulated_thread& spawn(unsigned cpu, std::function<void()> body);
void join(simulated_thread& t) noexcept;
/// Uses the CPU for that many nanoseconds.
void burn(std::int64_t ns) noexcept;
void sleep(std::int64_t ns) noexcept;

/// A semaphore in the kernel of the machine. It has no line, so that a program can wait without being counted. One
/// thread at a time may wait.
class gate {
public:
    void open() noexcept;
    /// Returns after `n` calls of open() that no other call has used.
    void wait(unsigned n = 1) noexcept;

private:
    unsigned count_ = 0, wanted_ = 0;
};

/// All counts become 0, and the machine counts from here on.
void begin_measuring() noexcept;
void end_measuring() noexcept;
[[nodiscard]] counts counted(phase p) noexcept;

/// The calling thread is in this phase from here on, and begins a step: counts::lines counts each line again.
void enter(phase p) noexcept;

/// The calling thread is in this phase while the object lives.
class in_phase {
public:
    explicit in_phase(phase p) noexcept;
    ~in_phase();
    in_phase(const in_phase&) = delete;
    in_phase& operator=(const in_phase&) = delete;

private:
    phase before_;
};

// --- for the overlay -------------------------------------------------------------------------------------------------

[[nodiscard]] unsigned nr_cpus() noexcept;
[[nodiscard]] unsigned current_cpu() noexcept;
[[nodiscard]] std::int64_t now() noexcept;
[[nodiscard]] thread_slots& slots() noexcept;
void relax() noexcept;
void yield() noexcept;

/// Sleeps while the word has the value `seen`. False: the deadline has passed.
bool wait_for_word(const void* word, std::uint32_t seen, std::int64_t deadline) noexcept;
void wake_one(const void* word) noexcept;
/// Interrupts each CPU that runs a thread.
void barrier_of_all() noexcept;

/// The state of a thread before it locks a mutex. An attempt that succeeds at once makes one atomic access.
struct lock_attempt {
    std::uint64_t atomics;
    std::int64_t began;
};
[[nodiscard]] lock_attempt begin_lock() noexcept;
void end_lock(const lock_attempt& before) noexcept;

simulated_thread* start(std::function<void()> body) noexcept;
/// The calling thread; null outside of a run.
[[nodiscard]] simulated_thread* self() noexcept;
[[nodiscard]] bool has_ended(const simulated_thread& t) noexcept;
[[nodiscard]] bool is_blocked(const simulated_thread& t) noexcept;
void times_of(const simulated_thread& t, std::int64_t& cpu, std::int64_t& wait) noexcept;
void set_rank(simulated_thread& t, rank r) noexcept;
void set_name(const char* name) noexcept;
/// Binds the calling thread to these CPUs. False: none of them exists.
bool bind(const cpu_mask& cpus) noexcept;

}}} // namespace cmwq::CMWQ_NS::detail::counting
