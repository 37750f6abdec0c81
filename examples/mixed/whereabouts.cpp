// SPDX-License-Identifier: BSL-1.0
#include "whereabouts.hpp"

#include <algorithm>
#include <tuple>

#include <pthread.h>
#include <sched.h>

namespace mixed {

namespace {

constexpr std::size_t name_size = 16; // of a thread, with its zero

struct thread_name {
    char text[name_size];
};

std::array<thread_name, 4096> names;
std::atomic<std::size_t> nr_names{0};

/// The index of this thread in `names`. A thread gets its index in its first call.
std::size_t number_of_this_thread() noexcept {
    static thread_local const std::size_t number = [] {
        const std::size_t n = nr_names.fetch_add(1);
        if (n < names.size()) ::pthread_getname_np(::pthread_self(), names[n].text, name_size);
        return n;
    }();
    return number;
}

} // namespace

whereabouts::run::run(whereabouts& w) noexcept : w_(w) {
    w.runs_.fetch_add(1);
    const unsigned running = w.running_.fetch_add(1) + 1;
    for (unsigned peak = w.peak_; peak < running && !w.peak_.compare_exchange_weak(peak, running);) {}
    if (const int cpu = ::sched_getcpu(); cpu >= 0 && static_cast<std::size_t>(cpu) < nr_cpus) {
        w.on_cpu_[static_cast<std::size_t>(cpu)] = true;
    }
    if (const std::size_t n = number_of_this_thread(); n < nr_threads) w.by_thread_[n] = true;
}

cmwq::cpuset whereabouts::cpus() const {
    cmwq::cpuset set;
    for (unsigned cpu = 0; cpu < nr_cpus; ++cpu) {
        if (on_cpu_[cpu]) set.insert(cpu);
    }
    return set;
}

std::vector<std::string> whereabouts::threads() const {
    static_assert(nr_threads <= std::tuple_size_v<decltype(names)>);
    std::vector<std::string> found;
    for (std::size_t n = 0; n < nr_threads; ++n) {
        if (by_thread_[n]) found.emplace_back(names[n].text);
    }
    std::ranges::sort(found);
    return found;
}

} // namespace mixed
