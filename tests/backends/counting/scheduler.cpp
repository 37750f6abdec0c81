// SPDX-License-Identifier: BSL-1.0
#include <counting/scheduler.hpp>

#include <algorithm>
#include <cstdlib>
#include <exception>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

scheduler::scheduler(const machine& m) : m_(m) {
    cpus_.resize(m.cpus);
    for (unsigned c = 0; c < m.cpus; ++c) cpus_[c].number = c;
}

outcome scheduler::simulate(const machine& m, std::function<void()> body) {
    last_ = std::make_unique<scheduler>(m);
    scheduler& s = *last_;
    cpu_mask all;
    for (unsigned c = 0; c < m.cpus; ++c) all.set(c);
    simulated_thread& first = s.start(std::move(body), all);
    std::snprintf(first.name, sizeof first.name, "main");
    s.steps_.clear(); // the first thread makes the first step
    s.self_ = &first;
    active_ = &s;
    model::fiber::switch_to(s.outside_, first.context);
    active_ = nullptr;
    inside_ = false;
    std::int64_t latest = start_of_time;
    for (const cpu& c : s.cpus_) latest = std::max(latest, c.clock);
    return {s.failure_, latest - start_of_time};
}

// --- accesses --------------------------------------------------------------------------------------------------------

void scheduler::touch(std::uintptr_t address, bool write, counts* to, const void* code) noexcept {
    line& l = lines_.at(address);
    cpu& c = cpu_of_self();
    const access_result r = lines::access(l, self_->cpu, write);
    switch (r) {
    case access_result::hit: c.clock += m_.time.hit; break;
    case access_result::first_touch: c.clock += m_.time.first_touch; break;
    case access_result::transfer:
    case access_result::upgrade:
        c.clock = std::max(c.clock, l.busy_until) + m_.time.transfer;
        l.busy_until = c.clock;
        break;
    }
    if (to == nullptr) return;
    if (r == access_result::transfer || r == access_result::upgrade) {
        ++to->transfers;
        ++site_of(code).transfers;
        if (r == access_result::upgrade) ++to->upgrades;
    }
    const simulated_thread& t = *self_;
    constexpr std::uintptr_t stack_bytes = 256 * 1024;
    if (address <= t.stack_top && address > t.stack_top - stack_bytes) return;
    auto& seen = self_->step_lines[static_cast<std::size_t>(t.now_in)];
    const std::uintptr_t number = address >> lines::shift;
    if (std::find(seen.begin(), seen.end(), number) != seen.end()) return;
    seen.push_back(number);
    ++to->lines;
    ++site_of(code).lines;
}

site_counts& scheduler::site_of(const void* code) noexcept {
    const auto& callers = self_->callers;
    const std::size_t n = callers.size();
    return sites_[{{code, n > 0 ? callers[n - 1] : nullptr, n > 1 ? callers[n - 2] : nullptr}, self_->now_in}];
}

void scheduler::access(std::uintptr_t address, std::size_t size, access_kind k, const void* code) noexcept {
    if (k >= access_kind::atomic_read) {
        take_turn();
        ++self_->atomics;
    }
    counts* const to = counted_now();
    if (to != nullptr) ++to->accesses;
    if (k == access_kind::locked) {
        spend(m_.time.locked);
        if (to != nullptr) ++to->locked, ++site_of(code).locked;
    }
    const bool write = k != access_kind::read && k != access_kind::atomic_read;
    const std::uintptr_t first = address >> lines::shift, last = (address + size - 1) >> lines::shift;
    for (std::uintptr_t l = first; l <= last; ++l) touch(std::max(address, l << lines::shift), write, to, code);
}

void scheduler::interrupt_others(std::int64_t ns) noexcept {
    for (cpu& c : cpus_) {
        if (c.running == nullptr || steps_.erase({c.clock, c.number}) == 0) continue;
        c.clock += ns;
        steps_.insert({c.clock, c.number});
    }
}

void scheduler::lock_waited(std::int64_t ns, const void* code) noexcept {
    counts* const to = counted_now();
    if (to == nullptr) return;
    ++to->lock_waits;
    to->lock_ns += static_cast<std::uint64_t>(ns);
    ++site_of(code).lock_waits;
}

void scheduler::begin_measuring() noexcept {
    of_phase_ = {};
    sites_.clear();
    measuring_ = true;
}

void scheduler::enter(phase p) noexcept {
    self_->now_in = p;
    self_->step_lines[static_cast<std::size_t>(p)].clear();
}

// --- threads ---------------------------------------------------------------------------------------------------------

simulated_thread& scheduler::start(std::function<void()> body, const cpu_mask& allowed) {
    threads_.push_back(std::make_unique<simulated_thread>());
    simulated_thread& t = *threads_.back();
    t.id = static_cast<unsigned>(threads_.size() - 1);
    t.allowed = allowed;
    t.body = std::move(body);
    t.context.prepare(&scheduler::enter_thread);
    if (self_ == nullptr) {
        make_ready(t, start_of_time, 0);
        return t;
    }
    t.cpu = self_->cpu;
    // A new thread goes to the CPU with the fewest threads.
    std::size_t fewest = ~std::size_t{0};
    for (unsigned i = 0; i < m_.cpus; ++i) {
        const unsigned c = (self_->cpu + i) % m_.cpus;
        std::size_t here = cpus_[c].running != nullptr ? 1 : 0;
        for (const auto& q : cpus_[c].ready) here += q.size();
        if (!allowed.test(c) || here >= fewest) continue;
        fewest = here;
        t.cpu = c;
    }
    make_ready(t, now() + m_.time.wake_up, t.cpu);
    return t;
}

void scheduler::enter_thread() {
    scheduler& s = *active_;
    simulated_thread& t = *s.self_;
    t.context.arrived();
    t.stack_top = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 64;
    inside_ = false;
    std::string escaped;
    try {
        t.body();
    } catch (const std::exception& e) {
        escaped = e.what();
    } catch (...) {
        escaped = "?";
    }
    inside_ = true;
    if (!escaped.empty()) s.fail("an exception left a thread: " + escaped);
    t.body = nullptr;
    t.state = thread_state::finished;
    ++s.nr_finished_;
    while (s.wake_first(&t)) {}
    cpu& c = s.cpu_of_self();
    s.stop_running(c);
    s.elect(c);
    s.reschedule();
    std::abort();
}

void scheduler::join(simulated_thread& t) noexcept {
    while (t.state != thread_state::finished) block(&t, never);
}

std::int64_t scheduler::cpu_time_of(const simulated_thread& t) const noexcept {
    return t.cpu_time + (t.state == thread_state::running ? cpus_[t.cpu].clock - t.began_at : 0);
}

bool scheduler::block(const void* on, std::int64_t deadline) noexcept {
    simulated_thread& t = *self_;
    cpu& c = cpu_of_self();
    if (deadline <= c.clock) return false;
    t.timed_out = false;
    t.waits_for = on;
    t.deadline = deadline;
    waiting_[on].push_back(&t);
    if (deadline != never) timers_.insert({deadline, t.id});
    stop_running(c);
    t.state = thread_state::blocked;
    elect(c);
    reschedule();
    return !t.timed_out;
}

void scheduler::wake(simulated_thread& t, std::int64_t at, unsigned near) noexcept {
    if (t.deadline != never) timers_.erase({t.deadline, t.id});
    auto& others = waiting_[t.waits_for];
    std::erase(others, &t);
    if (others.empty()) waiting_.erase(t.waits_for);
    t.deadline = never;
    t.waits_for = nullptr;
    make_ready(t, at, near);
}

bool scheduler::wake_first(const void* on) noexcept {
    const auto found = waiting_.find(on);
    if (found == waiting_.end()) return false;
    wake(*found->second.front(), now(), self_->cpu);
    return true;
}

void scheduler::yield() noexcept {
    cpu& c = cpu_of_self();
    simulated_thread& t = *self_;
    if (highest_ready(c) >= static_cast<int>(t.importance)) {
        stop_running(c);
        queue(c, t, false);
        elect(c);
        reschedule();
    } else {
        take_turn();
    }
}

bool scheduler::bind(const cpu_mask& cpus) noexcept {
    cpu_mask existing;
    for (unsigned c = 0; c < m_.cpus; ++c) existing.set(c);
    if ((cpus & existing).none()) return false;
    simulated_thread& t = *self_;
    t.allowed = cpus & existing;
    if (t.allowed.test(t.cpu)) return true;
    cpu& c = cpu_of_self();
    const std::int64_t at = c.clock;
    stop_running(c);
    make_ready(t, at, t.cpu);
    elect(c);
    reschedule();
    return true;
}

void scheduler::set_rank(simulated_thread& t, rank r) noexcept {
    if (t.importance == r) return;
    if (t.state == thread_state::ready) {
        cpu& its = cpus_[t.cpu];
        std::erase(its.ready[static_cast<std::size_t>(t.importance)], &t);
        t.importance = r;
        queue(its, t, false);
        return;
    }
    t.importance = r;
    cpu& its = cpus_[t.cpu];
    if (&t == self_ && highest_ready(its) > static_cast<int>(r)) {
        its.preempted = true;
        take_turn();
    }
}

// --- CPUs ------------------------------------------------------------------------------------------------------------

int scheduler::highest_ready(const cpu& c) noexcept {
    for (std::size_t r = nr_ranks; r-- > 0;)
        if (!c.ready[r].empty()) return static_cast<int>(r);
    return -1;
}

void scheduler::queue(cpu& c, simulated_thread& t, bool in_front) noexcept {
    t.state = thread_state::ready;
    auto& q = c.ready[static_cast<std::size_t>(t.importance)];
    if (in_front) q.push_front(&t);
    else q.push_back(&t);
}

// As Linux does, a CPU that runs only a thread of the idle class counts as idle for other threads.
bool scheduler::is_idle(unsigned cpu_number, rank for_rank) const noexcept {
    const cpu& c = cpus_[cpu_number];
    if (c.running == nullptr) return true;
    return c.running->importance == rank::idle && for_rank != rank::idle && highest_ready(c) <= 0;
}

// The CPU of a thread that is woken: its last one, else an idle one of the same cache, else an idle one near the waker,
// else any idle one.
unsigned scheduler::place(const simulated_thread& t, unsigned near) const noexcept {
    const auto fits = [&](unsigned c) { return c < m_.cpus && t.allowed.test(c) && is_idle(c, t.importance); };
    if (fits(t.cpu)) return t.cpu;
    const unsigned size = m_.cpus_of_cache;
    for (const unsigned start : {t.cpu, near}) {
        for (unsigned i = 0; i < size; ++i) {
            const unsigned c = start / size * size + (start + i) % size;
            if (fits(c)) return c;
        }
    }
    for (unsigned i = 0; i < m_.cpus; ++i) {
        const unsigned c = (t.cpu + i) % m_.cpus;
        if (fits(c)) return c;
    }
    if (t.allowed.test(t.cpu)) return t.cpu;
    unsigned c = 0;
    while (!t.allowed.test(c)) ++c;
    return c;
}

void scheduler::make_ready(simulated_thread& t, std::int64_t at, unsigned near) noexcept {
    t.cpu = place(t, near);
    t.ready_at = at;
    cpu& c = cpus_[t.cpu];
    if (c.running == nullptr) {
        t.ready_at = at + m_.time.wake_up;
        queue(c, t, false);
        elect(c);
        return;
    }
    const bool overtakes = t.importance > c.running->importance;
    queue(c, t, false);
    if (!overtakes) return;
    if (c.running == self_) {
        c.preempted = true;
        return;
    }
    simulated_thread& former = *c.running;
    steps_.erase({c.clock, c.number});
    stop_running(c);
    queue(c, former, true);
    elect(c);
}

/// The CPU gives up its running thread.
void scheduler::stop_running(cpu& c) noexcept {
    simulated_thread& t = *c.running;
    t.cpu_time += c.clock - t.began_at;
    t.ready_at = c.clock;
    c.running = nullptr;
    c.preempted = false;
}

/// The CPU chooses the thread that it runs next.
void scheduler::elect(cpu& c) noexcept {
    const int best = highest_ready(c);
    if (best < 0) return;
    auto& q = c.ready[static_cast<std::size_t>(best)];
    simulated_thread& t = *q.front();
    q.pop_front();
    c.clock = std::max(c.clock, t.ready_at) + m_.time.thread_switch;
    t.wait_time += c.clock - t.ready_at;
    t.began_at = c.slice_began = c.clock;
    t.state = thread_state::running;
    c.running = &t;
    steps_.insert({c.clock, c.number});
}

void scheduler::take_turn() noexcept {
    cpu& c = cpu_of_self();
    const int best = highest_ready(c);
    const auto own = static_cast<int>(self_->importance);
    if (best > own || c.preempted || (best == own && c.clock - c.slice_began > m_.time.slice)) {
        simulated_thread& t = *self_;
        stop_running(c);
        queue(c, t, best > own);
        elect(c);
        reschedule();
        return;
    }
    const bool behind =
        (!steps_.empty() && steps_.begin()->first < c.clock) || (!timers_.empty() && timers_.begin()->first < c.clock);
    if (!behind) return;
    steps_.insert({c.clock, c.number});
    reschedule();
}

// Continues with the CPU whose clock is the earliest. The present CPU is among `steps_` if it has something to do.
void scheduler::reschedule() noexcept {
    for (;;) {
        const bool timer = !timers_.empty() && (steps_.empty() || timers_.begin()->first <= steps_.begin()->first);
        if (timer) {
            simulated_thread& late = *threads_[timers_.begin()->second];
            late.timed_out = true;
            // make_ready() compares with the running thread, and at this point no CPU makes a step.
            simulated_thread* const present = std::exchange(self_, nullptr);
            wake(late, late.deadline, late.cpu);
            self_ = present;
            continue;
        }
        if (steps_.empty()) {
            if (nr_finished_ == threads_.size()) leave();
            fail("deadlock: " + states());
        }
        break;
    }
    cpu& c = cpus_[steps_.begin()->second];
    steps_.erase(steps_.begin());
    if (c.clock - start_of_time > m_.longest) fail("the run takes too long: " + states());
    simulated_thread& from = *self_;
    self_ = c.running;
    if (self_ != &from) model::fiber::switch_to(from.context, self_->context);
}

void scheduler::leave() noexcept {
    model::fiber::switch_to(self_->context, outside_);
    std::abort();
}

void scheduler::fail(const std::string& why) noexcept {
    if (failure_.empty()) failure_ = why;
    leave();
}

std::string scheduler::states() const {
    std::string s;
    for (const auto& t : threads_) {
        if (t->state == thread_state::finished) continue;
        s += s.empty() ? "" : ", ";
        s += std::string(t->name) + " (CPU " + std::to_string(t->cpu) + ") ";
        s += t->state == thread_state::blocked ? "waits" : t->state == thread_state::ready ? "is ready" : "runs";
    }
    return s;
}

}}} // namespace cmwq::CMWQ_NS::detail::counting
