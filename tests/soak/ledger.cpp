// SPDX-License-Identifier: BSL-1.0
#include "ledger.hpp"

#include <algorithm>

#include <sys/syscall.h>
#include <unistd.h>

namespace soak {

namespace {

std::atomic<std::uint64_t> next_stream{1'000'000}; // far from the streams that callers pass to seed_this_thread()

} // namespace

activity::activity() : tid(static_cast<pid_t>(::syscall(SYS_gettid))), dice(next_stream.fetch_add(1)) {
    const std::lock_guard g(list_lock);
    list.push_back(this);
}

activity::~activity() {
    const std::lock_guard g(list_lock);
    list.erase(std::find(list.begin(), list.end(), this));
}

activity& here() {
    thread_local activity mine;
    return mine;
}

void seed_this_thread(std::uint64_t stream) { here().dice = stress::random(stream); }

} // namespace soak
