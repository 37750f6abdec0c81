// SPDX-License-Identifier: BSL-1.0
//
// The bodies of cmwq::runtime and freeze_guard.

#include <cmwq/detail/engine/api/runtime_access.hpp>
#include <cmwq/detail/engine/ledger/own_run.hpp>
#include <cmwq/detail/engine/report/metrics.hpp>
#include <cmwq/detail/engine/report/runtime_report.hpp>
#include <cmwq/detail/engine/runtime/checks.hpp>
#include <cmwq/detail/engine/runtime/forks.hpp>
#include <cmwq/detail/engine/runtime/global.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine/runtime/settings.hpp>
#include <cmwq/detail/engine/runtime/stall_report.hpp>
#include <cmwq/detail/engine/runtime/wanted_leaves.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

namespace detail {
CMWQ_INLINE std::string metrics_of(const runtime_core& rt) { return to_open_metrics(numbers_of(rt)); }

inline void tell_missing_leaf(const char* options, const char* header, const char* library) noexcept {
    std::fprintf(
        stderr,
        "cmwq: %s in the options of a runtime: that needs %s in any file of the program, or cmwq::compiled on a "
        "machine with %s\n",
        options, header, library);
}

CMWQ_INLINE std::unique_ptr<wanted_traces> traces_of(runtime& rt, const runtime_options& o, made_for whom) {
    if (o.trace.empty() && o.flight_recorder.empty()) return nullptr;
    if (is_contained(make_wanted_traces)) return make_wanted_traces(rt, o, whom);
    tell_missing_leaf("trace or flight_recorder", "<cmwq/trace.hpp>", "Boost.Lockfree");
    return nullptr;
}

CMWQ_INLINE std::unique_ptr<wanted_control> control_of(runtime& rt, const runtime_options& o, made_for whom) {
    if (!o.control) return nullptr;
    if (is_contained(make_wanted_control)) return make_wanted_control(rt, whom);
    tell_missing_leaf("control", "<cmwq/control.hpp>", "nlohmann-json");
    return nullptr;
}
} // namespace detail

CMWQ_INLINE runtime::runtime(runtime_options options) : runtime(std::move(options), detail::made_for::caller) {}

CMWQ_INLINE runtime::runtime(runtime_options options, detail::made_for whom) {
    using namespace detail;
    constexpr report_texts texts{.metrics = &metrics_of, .line = [](const runtime_core& rt, long long ms) {
                                     return to_line(numbers_of(rt), ms);
                                 }};
    hook_forks();
    core_ = std::make_unique<runtime_core>(std::move(options), whom, texts);
    traces_ = traces_of(*this, core_->env().options, whom);
    control_ = control_of(*this, core_->env().options, whom);
}

CMWQ_INLINE runtime::~runtime() {
    detail::check_copy(*core_, detail::a_runtime);
    control_.reset();
    traces_.reset();
    // In a forked child there is no thread to join, and threads that do not exist here may hold locks: leaked on
    // purpose. Otherwise `on_event` may still use this runtime, so the pointer must be valid until it has ended.
    if (!core_->is_dead()) delete core_.get();
    static_cast<void>(core_.release()); // NOLINT(bugprone-unused-return-value): deleted, or leaked
}

CMWQ_API detail::runtime_core& detail::runtime_access::core_of(const runtime& rt) noexcept { return *rt.core_; }

namespace detail {
inline constinit per_process<runtime, lock_rank::once> global_runtime;

// The options of configure_global(); null: it was not called. Read and written under the lock under which that runtime
// is made. Not destroyed, because the first use of the runtime may come while static objects are destroyed.
inline constinit atomic<const runtime_options*> options_of_global_runtime{nullptr};

} // namespace detail

// The environment variable takes precedence over configure_global(): the user of a program overrides its author, as
// with the boot parameters of a kernel.
CMWQ_INLINE runtime* runtime::make_global() {
    const runtime_options* const said = detail::options_of_global_runtime.load(detail::relaxed);
    runtime_options o = said == nullptr ? runtime_options{} : *said;
    const char* const text = detail::environment_variable("CMWQ");
    if (text == nullptr) return new runtime(std::move(o), detail::made_for::process);
    o = detail::settings("the environment variable CMWQ", text).over(std::move(o));
    try {
        return new runtime(std::move(o), detail::made_for::process);
    } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(std::string(e.what()) + "; the environment variable CMWQ says '" + text + "'");
    }
}

CMWQ_INLINE void runtime::configure_global(runtime_options options) {
    detail::check_options(options);
    std::unique_ptr<const runtime_options> now = std::make_unique<const runtime_options>(std::move(options));
    const bool in_time = detail::global_runtime.if_not_made([&] {
        // [LOCK] A child of fork() finds the old pointer or the new one.
        now.reset(detail::options_of_global_runtime.exchange(now.release(), detail::acq_rel));
    });
    if (!in_time) {
        throw std::logic_error(
            "cmwq: the process-wide runtime has been made already: runtime::configure_global() comes "
            "before its first use, and that of queues on it");
    }
}

CMWQ_INLINE runtime& runtime::global() {
    return detail::global_runtime.get([] { return make_global(); }, [] { detail::runtime_core::stay_loaded(); });
}

CMWQ_INLINE const cpuset& runtime::cpus() const noexcept { return core_->env().cpus.cpus(); }

CMWQ_INLINE cpuset runtime::unbound_cpus() const { return core_->placing().unbound_cpus(); }

CMWQ_INLINE void runtime::set_unbound_cpus(const cpuset& cpus) {
    detail::check_copy(*core_, detail::a_runtime);
    if (!core_->is_dead()) core_->placing().set_unbound_cpus(cpus);
}

CMWQ_INLINE affinity_scope runtime::default_scope() const { return core_->placing().default_scope(); }

CMWQ_INLINE void runtime::set_default_scope(affinity_scope scope) {
    detail::check_copy(*core_, detail::a_runtime);
    if (!core_->is_dead()) core_->placing().set_default_scope(scope);
}

CMWQ_INLINE runtime_thresholds runtime::thresholds() const noexcept { return core_->env().thresholds.get(); }

CMWQ_INLINE void runtime::set_thresholds(const runtime_thresholds& t) {
    detail::check_copy(*core_, detail::a_runtime);
    detail::check_thresholds(t);
    if (!core_->is_dead()) core_->set_thresholds(t);
}

CMWQ_INLINE const topology& runtime::machine() const { return core_->env().cpus.machine(); }

namespace detail {
inline void refuse_in_observer(const char* call) {
    if (!observers::tells()) return;
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur),
                            std::string("cmwq: ") + call + " is called in an observer, for which it would wait");
}
} // namespace detail

CMWQ_INLINE void runtime::attach(observer& o) {
    detail::check_copy(*core_, detail::a_runtime);
    detail::refuse_in_observer("runtime::attach()");
    core_->attach(o);
}

CMWQ_INLINE bool runtime::detach(observer& o) {
    detail::check_copy(*core_, detail::a_runtime);
    detail::refuse_in_observer("runtime::detach()");
    return core_->detach(o);
}

CMWQ_INLINE void runtime::refresh_topology() {
    detail::check_copy(*core_, detail::a_runtime);
    core_->check_cpus();
}

CMWQ_INLINE void runtime::freeze() {
    detail::check_copy(*core_, detail::a_runtime);
    core_->freeze();
}

CMWQ_INLINE bool runtime::frozen() const noexcept { return core_->is_frozen(); }

CMWQ_INLINE bool runtime::wait_frozen() {
    detail::check_copy(*core_, detail::a_runtime);
    return core_->wait_frozen(0);
}

CMWQ_INLINE bool runtime::wait_frozen_for_ns(std::int64_t ns) {
    detail::check_copy(*core_, detail::a_runtime);
    constexpr std::int64_t never = std::int64_t{1} << 61; // can be added to the current time without overflow
    return core_->wait_frozen(detail::steady_now() + std::min(ns, never));
}

CMWQ_INLINE void runtime::thaw() {
    detail::check_copy(*core_, detail::a_runtime);
    core_->thaw();
}

CMWQ_INLINE freeze_guard::freeze_guard(runtime& rt) : runtime_(rt) {
    rt.freeze();
    try {
        static_cast<void>(rt.wait_frozen());
    } catch (...) {
        rt.thaw();
        throw;
    }
}

CMWQ_INLINE freeze_guard::~freeze_guard() { runtime_.thaw(); }

CMWQ_INLINE std::string runtime::dump(dump_format form) const {
    detail::check_copy(*core_, detail::a_runtime);
    if (core_->is_dead()) return {}; // threads that do not exist here may hold locks
    return form == dump_format::json ? detail::to_json(core_->report()) : detail::to_text(core_->report());
}

CMWQ_INLINE std::string runtime::stall_report_ns(std::int64_t at_least) const {
    detail::check_copy(*core_, detail::a_runtime);
    if (core_->is_dead()) return {}; // threads that do not exist here may hold locks
    return detail::stall_report_of(core_->env(), core_->queues(), at_least);
}

CMWQ_INLINE std::string runtime::metrics() const {
    detail::check_copy(*core_, detail::a_runtime);
    if (core_->is_dead()) return "# EOF\n"; // threads that do not exist here may hold locks
    return detail::metrics_of(*core_);
}

CMWQ_INLINE void runtime::snapshot_trace(const std::string& path) {
    detail::check_copy(*core_, detail::a_runtime);
    if (core_->is_dead()) return; // the thread of the recorder does not exist here
    detail::refuse_in_bottom_half("runtime::snapshot_trace() is called");
    if (traces_ == nullptr || !traces_->snapshot(path)) {
        throw std::logic_error("cmwq: runtime::snapshot_trace() needs the option flight_recorder");
    }
}

CMWQ_INLINE runtime_stats runtime::stats() const noexcept { return core_->stats(); }

}} // namespace cmwq::CMWQ_NS
