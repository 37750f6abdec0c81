// SPDX-License-Identifier: BSL-1.0
//
// Every public member, called in a forked child on what the parent has made: none hangs, none crashes. The locks of the
// parent may be in any state there, and its threads do not exist. tools/check_members.py compares the names with the
// headers.
#include "catch.hpp"
#include "child.hpp"
#include "gate.hpp"
#include "policy_list.hpp"

#include <cmwq/async.hpp>
#include <cmwq/bh.hpp>
#include <cmwq/cmwq.hpp>
#include <cmwq/task_group.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

/// What a child inherits: a queue with an item that runs, one that waits for its timer, an idle one, and a task that
/// has not started. The runtime is frozen, so none of the waits would end by itself.
template <class P>
struct heritage {
    heritage() {
        running.hold(*q);
        q->queue_after(1h, armed);
        rt->freeze();
        if constexpr (can_block<P>) {
            group.emplace(*q);
            group->run([] {});
        }
    }
    ~heritage() {
        rt->thaw();
        running.open();
    }
    heritage(const heritage&) = delete;
    heritage& operator=(const heritage&) = delete;

    std::unique_ptr<cmwq::runtime> rt = std::make_unique<cmwq::runtime>();
    std::unique_ptr<cmwq::workqueue<P>> q = std::make_unique<cmwq::workqueue<P>>(*rt, options());
    cmwq::delayed_work<void (*)()> armed{[] {}};
    cmwq::work<void (*)()> idle{[] {}};
    std::optional<cmwq::task_group> group;
    gate running;

    static cmwq::options<P> options() {
        cmwq::options<P> o{.name = "parent"};
        if constexpr (requires { o.freezable; }) o.freezable = true;
        return o;
    }
    [[nodiscard]] cmwq::workqueue_base& base() { return *q; }
    [[nodiscard]] unsigned cpu() { return *rt->cpus().begin(); }
    /// Calls `f` with each of the items.
    template <class F>
    void with_items(F f) {
        f(static_cast<cmwq::work_base&>(idle));
        f(static_cast<cmwq::work_base&>(armed));
        f(static_cast<cmwq::work_base&>(running.item));
    }
};

struct silent_observer final : cmwq::observer {};
constinit silent_observer watcher; // may outlive the runtime

template <class P>
struct member {
    const char* name;
    void (*call)(heritage<P>&);
};

template <class P>
std::vector<member<P>> members() {
    using h = heritage<P>;
    using queue = cmwq::workqueue<P>;
    std::vector<member<P>> all{
        {"runtime::runtime", [](h&) { const cmwq::runtime own; }},
        {"runtime::~runtime",
         [](h& a) {
             a.running.item.cancel();
             a.q.reset();
             a.rt.reset();
         }},
        {"runtime::global", [](h&) { static_cast<void>(cmwq::runtime::global()); }},
        {"runtime::configure_global", [](h&) { cmwq::runtime::configure_global({}); }},
        {"runtime::cpus", [](h& a) { static_cast<void>(a.rt->cpus().size()); }},
        {"runtime::unbound_cpus", [](h& a) { static_cast<void>(a.rt->unbound_cpus()); }},
        {"runtime::set_unbound_cpus", [](h& a) { a.rt->set_unbound_cpus(a.rt->cpus()); }},
        {"runtime::default_scope", [](h& a) { static_cast<void>(a.rt->default_scope()); }},
        {"runtime::set_default_scope", [](h& a) { a.rt->set_default_scope(cmwq::affinity_scope::numa); }},
        {"runtime::machine", [](h& a) { static_cast<void>(a.rt->machine().cpus()); }},
        {"runtime::refresh_topology", [](h& a) { a.rt->refresh_topology(); }},
        {"runtime::freeze", [](h& a) { a.rt->freeze(); }},
        {"runtime::frozen", [](h& a) { static_cast<void>(a.rt->frozen()); }},
        {"runtime::wait_frozen", [](h& a) { a.rt->wait_frozen(); }},
        {"runtime::wait_frozen_for", [](h& a) { a.rt->wait_frozen_for(1h); }},
        {"runtime::thaw", [](h& a) { a.rt->thaw(); }},
        {"runtime::attach", [](h& a) { a.rt->attach(watcher); }},
        {"runtime::detach", [](h& a) { a.rt->detach(watcher); }},
        {"runtime::metrics", [](h& a) { static_cast<void>(a.rt->metrics()); }},
        {"runtime::thresholds", [](h& a) { static_cast<void>(a.rt->thresholds()); }},
        {"runtime::set_thresholds", [](h& a) { a.rt->set_thresholds(a.rt->thresholds()); }},
        {"runtime::stall_report", [](h& a) { static_cast<void>(a.rt->stall_report()); }},
        {"runtime::snapshot_trace", [](h& a) { a.rt->snapshot_trace("no folder/no file"); }},
        {"runtime::stats", [](h& a) { static_cast<void>(a.rt->stats()); }},
        {"runtime::dump",
         [](h& a) {
             static_cast<void>(a.rt->dump());
             static_cast<void>(a.rt->dump(cmwq::dump_format::json));
         }},
        {"freeze_guard::freeze_guard", [](h& a) { new cmwq::freeze_guard(*a.rt); }},
        {"freeze_guard::~freeze_guard", [](h& a) { const cmwq::freeze_guard guard(*a.rt); }},
        {"workqueue_base::queue", [](h& a) { a.with_items([&](auto& w) { a.base().queue(w); }); }},
        {"workqueue_base::queue_on", [](h& a) { a.with_items([&](auto& w) { a.base().queue_on(a.cpu(), w); }); }},
        {"workqueue_base::queue_after", [](h& a) { a.base().queue_after(1ms, a.armed); }},
        {"workqueue_base::queue_after_on", [](h& a) { a.base().queue_after_on(a.cpu(), 1ms, a.armed); }},
        {"workqueue_base::modify", [](h& a) { a.base().modify(1ms, a.armed); }},
        {"workqueue_base::post", [](h& a) { a.base().post([] {}); }},
        {"workqueue_base::post_on", [](h& a) { a.base().post_on(a.cpu(), [] {}); }},
        {"workqueue_base::async", [](h& a) { a.base().async([] {}).wait(); }},
        {"workqueue_base::set_max_active", [](h& a) { a.base().set_max_active(2); }},
        {"workqueue_base::max_active", [](h& a) { static_cast<void>(a.base().max_active()); }},
        {"workqueue_base::name", [](h& a) { static_cast<void>(a.base().name()); }},
        {"workqueue_base::stats", [](h& a) { static_cast<void>(a.base().stats()); }},
        {"workqueue_base::pending", [](h& a) { static_cast<void>(a.base().pending()); }},
        {"workqueue_base::active", [](h& a) { static_cast<void>(a.base().active()); }},
        {"workqueue::workqueue", [](h& a) { new queue(*a.rt, "child"); }},
        {"workqueue::~workqueue", [](h& a) { a.q.reset(); }},
        {"workqueue::flush", [](h& a) { a.q->flush(); }},
        {"workqueue::drain", [](h& a) { a.q->drain(); }},
        {"workqueue::shutdown",
         [](h& a) {
             a.q->shutdown(cmwq::cancel_pending, [](cmwq::work_base&) {});
             a.q->shutdown(cmwq::cancel_pending);
         }},
        {"work_base::flush", [](h& a) { a.with_items([](auto& w) { w.flush(); }); }},
        {"work_base::cancel", [](h& a) { a.with_items([](auto& w) { w.cancel(); }); }},
        {"work_base::cancel_sync", [](h& a) { a.with_items([](auto& w) { w.cancel_sync(); }); }},
        {"work_base::disable", [](h& a) { a.with_items([](auto& w) { w.disable(); }); }},
        {"work_base::disable_sync", [](h& a) { a.with_items([](auto& w) { w.disable_sync(); }); }},
        {"work_base::enable",
         [](h& a) {
             a.with_items([](auto& w) {
                 w.disable();
                 w.enable();
             });
         }},
        {"work_base::pending", [](h& a) { a.with_items([](auto& w) { static_cast<void>(w.pending()); }); }},
        {"work_base::busy", [](h& a) { a.with_items([](auto& w) { static_cast<void>(w.busy()); }); }},
        {"bh_disable_guard::bh_disable_guard", [](h&) { new cmwq::bh_disable_guard; }},
        {"bh_disable_guard::~bh_disable_guard",
         [](h& a) {
             const cmwq::bh_disable_guard guard;
             a.q->post([] {});
         }},
    };
    const auto add = [&](const char* name, void (*call)(h&)) { all.push_back({name, call}); };
    if constexpr (has_limit<P>) add("workqueue::set_max_active", [](h& a) { a.q->set_max_active(2); });
    if constexpr (requires(queue& q) { q.set_min_active(1); }) {
        add("workqueue::set_min_active", [](h& a) { a.q->set_min_active(2); });
        add("workqueue::min_active", [](h& a) { static_cast<void>(a.q->min_active()); });
    }
    if constexpr (has_attributes<P>) {
        add("workqueue::apply", [](h& a) { a.q->apply(cmwq::attrs{}.nice(1)); });
        add("workqueue::attributes", [](h& a) { static_cast<void>(a.q->attributes()); });
        add("workqueue::queue_on_node", [](h& a) { a.with_items([&](auto& w) { a.q->queue_on_node(0, w); }); });
    }
    if constexpr (can_block<P>) {
        add("task_group::task_group", [](h& a) { new cmwq::task_group(*a.q); });
        add("task_group::~task_group", [](h& a) { a.group.reset(); });
        add("task_group::run", [](h& a) { a.group->run([] {}); });
        add("task_group::wait", [](h& a) { a.group->wait(); });
        add("task_group::cancel", [](h& a) { a.group->cancel(); });
    }
    return all;
}

} // namespace

// proves: life-14
TEMPLATE_LIST_TEST_CASE("process: no member hangs or crashes in a forked child on what the parent has made", "",
                        every_policy) {
    const auto parents = std::make_unique<heritage<TestType>>();
    for (const member<TestType>& m : members<TestType>()) {
        INFO(m.name);
        const outcome o = in_child([&] {
            try {
                m.call(*parents);
            } catch (const std::exception&) {} // an error is an answer, too
            return 0;
        });
        INFO(o.stderr_text);
        CHECK(o.exited_with(0));
    }
}
