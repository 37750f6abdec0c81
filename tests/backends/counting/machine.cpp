// SPDX-License-Identifier: BSL-1.0
#include <counting/machine.hpp>
#include <counting/scheduler.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

namespace {

/// The running machine; ends the program if there is none.
scheduler& here(const char* what) noexcept {
    scheduler* const s = scheduler::current();
    if (s != nullptr) return *s;
    std::fprintf(stderr, "cmwq counting: %s outside of a run\n", what);
    std::abort();
}

} // namespace

outcome simulate(const machine& m, std::function<void()> body) { return scheduler::simulate(m, std::move(body)); }

// --- for the programs ------------------------------------------------------------------------------------------------

simulated_thread& spawn(unsigned cpu, std::function<void()> body) {
    scheduler& s = here("spawn()");
    const scheduler::section inside;
    cpu_mask allowed;
    allowed.set(cpu);
    return s.start(std::move(body), allowed);
}

void join(simulated_thread& t) noexcept {
    scheduler& s = here("join()");
    const scheduler::section inside;
    s.take_turn();
    s.join(t);
}

void burn(std::int64_t ns) noexcept {
    scheduler& s = here("burn()");
    const scheduler::section inside;
    s.spend(ns);
    s.take_turn();
}

void sleep(std::int64_t ns) noexcept {
    scheduler& s = here("sleep()");
    const scheduler::section inside;
    s.take_turn();
    s.block(&s.self(), s.now() + ns);
}

void gate::open() noexcept {
    scheduler& s = here("gate::open()");
    const scheduler::section inside;
    s.spend(s.options().time.system_call);
    s.take_turn();
    if (++count_ >= wanted_) s.wake_first(this);
}

void gate::wait(unsigned n) noexcept {
    scheduler& s = here("gate::wait()");
    const scheduler::section inside;
    s.spend(s.options().time.system_call);
    s.take_turn();
    wanted_ = n;
    while (count_ < n) s.block(this, never);
    count_ -= n;
}

void begin_measuring() noexcept {
    scheduler& s = here("begin_measuring()");
    const scheduler::section inside;
    s.begin_measuring();
}

void end_measuring() noexcept {
    scheduler& s = here("end_measuring()");
    const scheduler::section inside;
    s.end_measuring();
}

counts counted(phase p) noexcept {
    const scheduler* const s = scheduler::last();
    return s != nullptr ? s->of(p) : counts{};
}

void enter(phase p) noexcept {
    scheduler& s = here("enter()");
    const scheduler::section inside;
    s.enter(p);
}

in_phase::in_phase(phase p) noexcept : before_(here("in_phase").self().now_in) { enter(p); }
in_phase::~in_phase() { here("~in_phase").self().now_in = before_; }

// --- for the overlay -------------------------------------------------------------------------------------------------

unsigned nr_cpus() noexcept {
    const scheduler* const s = scheduler::current();
    return s != nullptr ? s->options().cpus : 1;
}

unsigned current_cpu() noexcept {
    scheduler* const s = scheduler::current();
    return s != nullptr ? s->self().cpu : 0;
}

std::int64_t now() noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return 1;
    s->spend(s->options().time.clock);
    return s->now();
}

thread_slots& slots() noexcept {
    static constinit thread_slots outside;
    scheduler* const s = scheduler::current();
    return s != nullptr ? s->self().slots : outside;
}

void relax() noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    s->spend(s->options().time.relax);
    s->take_turn();
}

void yield() noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    s->spend(s->options().time.system_call);
    s->yield();
}

bool wait_for_word(const void* word, std::uint32_t seen, std::int64_t deadline) noexcept {
    scheduler& s = here("futex::wait()");
    const scheduler::section inside;
    s.spend(s.options().time.system_call);
    // The kernel reads the word before the thread sleeps.
    s.access(reinterpret_cast<std::uintptr_t>(word), 4, access_kind::atomic_read, __builtin_return_address(0));
    if (*static_cast<const volatile std::uint32_t*>(word) != seen) return true;
    if (counts* const to = s.counted_now()) ++to->sleeps;
    return s.block(word, deadline);
}

void wake_one(const void* word) noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    s->spend(s->options().time.system_call);
    s->take_turn();
    if (counts* const to = s->counted_now()) ++to->wakes;
    s->wake_first(word);
}

void barrier_of_all() noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    s->spend(s->options().time.system_call + s->options().time.interrupt);
    s->take_turn();
    if (counts* const to = s->counted_now()) ++to->barriers;
    s->interrupt_others(s->options().time.interrupt);
}

lock_attempt begin_lock() noexcept {
    scheduler* const s = scheduler::current();
    return s != nullptr ? lock_attempt{s->self().atomics, s->now()} : lock_attempt{0, 0};
}

void end_lock(const lock_attempt& before) noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    if (counts* const to = s->counted_now()) ++to->locks;
    if (s->self().atomics - before.atomics > 1) s->lock_waited(s->now() - before.began, __builtin_return_address(0));
}

simulated_thread* start(std::function<void()> body) noexcept {
    scheduler& s = here("thread::start()");
    const scheduler::section inside;
    s.spend(s.options().time.thread_start);
    s.take_turn();
    return &s.start(std::move(body), s.self().allowed); // a thread inherits the CPUs of the one that starts it
}

simulated_thread* self() noexcept {
    scheduler* const s = scheduler::current();
    return s != nullptr ? &s->self() : nullptr;
}

bool has_ended(const simulated_thread& t) noexcept { return t.state == thread_state::finished; }

bool is_blocked(const simulated_thread& t) noexcept {
    scheduler& s = here("thread_probe::blocked()");
    const scheduler::section inside;
    s.spend(s.options().time.probe);
    s.take_turn();
    return t.state == thread_state::blocked;
}

void times_of(const simulated_thread& t, std::int64_t& cpu, std::int64_t& wait) noexcept {
    scheduler& s = here("thread_probe::times()");
    const scheduler::section inside;
    s.spend(s.options().time.probe);
    cpu = s.cpu_time_of(t);
    wait = t.wait_time;
}

void set_rank(simulated_thread& t, rank r) noexcept {
    scheduler& s = here("set_rank()");
    const scheduler::section inside;
    s.spend(s.options().time.system_call);
    s.set_rank(t, r);
}

void set_name(const char* name) noexcept {
    if (scheduler* const s = scheduler::current()) std::snprintf(s->self().name, sizeof s->self().name, "%s", name);
}

bool bind(const cpu_mask& cpus) noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return true;
    const scheduler::section inside;
    s->spend(s->options().time.system_call);
    s->take_turn();
    return s->bind(cpus);
}

}}} // namespace cmwq::CMWQ_NS::detail::counting
