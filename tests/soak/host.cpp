// SPDX-License-Identifier: BSL-1.0
#include "host.hpp"

#include "fake_threads.hpp"
#include "kinds.hpp"

#include <cmwq/cmwq.hpp>

#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <utility>

using namespace std::chrono_literals;

namespace soak {

namespace {

cmwq::cpuset some_of(stress::random& r, const std::vector<unsigned>& cpus) {
    cmwq::cpuset some;
    for (const unsigned cpu : cpus) {
        if (r.one_in(2)) some.insert(cpu);
    }
    return some;
}

cmwq::affinity_scope some_scope(stress::random& r) {
    return cmwq::affinity_scopes[r.below(std::size(cmwq::affinity_scopes))];
}

/// Starts the first three threads, because a runtime cannot be made without them. Each later start may take some time,
/// and half of them fail if `refuses`.
cmwq_test::fake_threads::decision reluctantly(bool refuses) {
    return [refuses](int number) {
        if (number <= 3) return 0;
        if (refuses && dice().one_in(2)) return EAGAIN;
        if (dice().one_in(4)) stress::block_for(std::chrono::microseconds{dice().below(40'000)});
        return 0;
    };
}

} // namespace

host::host(stress::random& r) {
    constexpr const char* machine = "numa:2 l3:2 core:2 pu:2";
    cmwq::runtime_options o;
    real_ = !r.one_in(4);
    if (!real_) {
        o.machine = cmwq::topology::synthetic(machine);
        nr_nodes_ = 2;
    }
    power_efficient_ = o.power_efficient = r.one_in(3);
    o.sentinel = !r.one_in(4);
    o.idle_timeout = r.one_in(2) ? 1ms : 20ms; // idle threads end soon
    o.may_block_threshold = r.one_in(2) ? 0us : std::chrono::microseconds{r.below(500)};
    o.cache_shard_size = 1 + r.below(8);
    if (r.one_in(2)) o.default_scope = some_scope(r);
    if (r.one_in(4)) max_threads_ = o.max_threads = 1 + r.below(24);
    if (r.one_in(4)) {
        threads_ = std::make_unique<cmwq_test::fake_threads>(reluctantly(r.one_in(2)));
        o.threads = threads_.get();
    }
    o.watchdog = r.one_in(2) ? 20ms : 0ms;
    o.cpu_hog_threshold = r.one_in(2) ? 100us : 0us;
    o.overdue_after = r.one_in(4) ? 0ms : r.one_in(2) ? 1ms : 20ms;
    o.on_event = [](const cmwq::event& e) { does(op::event, [&] { static_cast<void>(e.message.size()); }); };
    description_ = std::string("machine ") + (real_ ? "real" : machine) +
                   (o.sentinel ? ", sentinel" : ", no sentinel") + (power_efficient_ ? ", power efficient" : "") +
                   (max_threads_ != 0 ? ", " + std::to_string(max_threads_) + " threads at most" : "") +
                   (threads_ != nullptr ? ", threads refused or late" : "");
    runtime_ = std::make_unique<cmwq::runtime>(std::move(o));
    cpus_.assign(runtime_->cpus().begin(), runtime_->cpus().end());
}

host::~host() = default;

unsigned host::some_cpu(stress::random& r) const { return cpus_[r.below(static_cast<unsigned>(cpus_.size()))]; }

void host::set_unbound_cpus(stress::random& r) {
    try {
        runtime_->set_unbound_cpus(some_of(r, cpus_));
    } catch (const std::invalid_argument&) { // the set was empty
    }
}

void host::set_default_scope(stress::random& r) { runtime_->set_default_scope(some_scope(r)); }

void host::refresh_topology() { runtime_->refresh_topology(); }

void host::freeze() { runtime_->freeze(); }

void host::thaw() { runtime_->thaw(); }

bool host::wait_frozen(std::chrono::microseconds time) { return runtime_->wait_frozen_for(time); }

bool host::is_frozen() const { return runtime_->frozen(); }

std::string host::dump() const { return runtime_->dump(); }

host::counts host::stats() const {
    const cmwq::runtime_stats s = runtime_->stats();
    return {s.items_started, s.items_completed, s.threads, s.peak_threads};
}

cmwq::attrs some_attrs(stress::random& r, const std::vector<unsigned>& cpus) {
    cmwq::attrs a;
    if (r.one_in(2)) a.nice(static_cast<int>(r.below(3)));
    if (r.one_in(4)) a.scheduling(cmwq::scheduling::batch);
    if (r.one_in(2)) a.affinity(some_scope(r));
    if (r.one_in(3)) a.strict(true);
    if (r.one_in(3)) a.cpus(some_of(r, cpus)); // may be empty, or contain no CPU that is available now
    return a;
}

} // namespace soak
