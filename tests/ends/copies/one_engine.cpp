// exits: 0
// says: all 14 cases: as in one copy
// proves: life-18
// A program that exports its symbols, and a plugin that uses its engine. Both can wait for, cancel and destroy items
// that the plugin queues on a queue of the program, and items on a queue of the plugin; also if the plugin calls its
// own functions on the shared data (-Bsymbolic-functions). Each case runs in a process of its own.
#include "each_in_a_child.hpp"
#include "plugin.hpp"

#include <cmwq/cmwq.hpp>

#include <dlfcn.h>
#include <memory>
#include <string>
#include <system_error>

using copies::call_and_meanwhile;
using copies::parts;

namespace {

void* plugin = nullptr;

const char* call(const char* name, parts& p) { return reinterpret_cast<copies::test_case>(::dlsym(plugin, name))(p); }

struct machine {
    cmwq::runtime rt;
    std::unique_ptr<cmwq::workqueue<cmwq::unbound>> q = std::make_unique<cmwq::workqueue<cmwq::unbound>>(rt, "program");
    parts p{.queue = q.get(), .runtime = &rt};
};

/// Runs a case that is entirely in the plugin.
template <const char* Name>
std::string in_plugin() {
    machine m;
    return call(Name, m.p);
}

constexpr char flush_running[] = "flush_running", cancel_running[] = "cancel_running",
               destroy_running[] = "destroy_running", cancel_armed[] = "cancel_armed", pending[] = "cancel_pending",
               itself[] = "wait_for_itself", own_run[] = "know_own_run", forked[] = "use_in_forked_child",
               groups[] = "wait_for_groups";

std::string blocking_region_is_seen() {
    cmwq::runtime rt{{.sentinel = false}};
    cmwq::workqueue<> bound{rt, "bound"};
    parts p{.bound = static_cast<cmwq::workqueue_base*>(&bound)};
    // The two items may get any CPUs. If they get the same CPU, the guard reports the block at once.
    for (int i = 0; i < 1000 && rt.stats().blocks_by_guard == 0; ++i) static_cast<void>(call("announce_blocking", p));
    return rt.stats().blocks_by_guard != 0 ? "" : "no guard has reported a block";
}

std::string queue_is_destroyed() {
    machine m;
    static_cast<void>(call("leave_items", m.p));
    call_and_meanwhile([&] { m.q.reset(); }, m.p.opened);
    return call("have_items_run", m.p);
}

std::string cycle_is_found() {
    machine m;
    int refused = 0;
    cmwq::work_base* self = nullptr;
    cmwq::work item{[&] {
        m.p.item = self;
        static_cast<void>(call("begin_cycle", m.p));
        try {
            static_cast<cmwq::work_base*>(m.p.item)->flush();
        } catch (const std::system_error&) {
            ++refused;
        }
    }};
    self = &item;
    m.q->queue(item);
    item.flush();
    m.q->flush();
    if (*call("end_cycle", m.p) != '\0') ++refused;
    return refused == 1 ? "" : "refused waits (expected 1): " + std::to_string(refused);
}

/// The program waits for an item of the plugin, on a queue of the plugin.
template <class Wait>
std::string waits_for_plugin(Wait wait) {
    parts p;
    static_cast<void>(call("make_own_queue", p));
    auto& queue = *static_cast<cmwq::workqueue<cmwq::unbound>*>(p.queue);
    static_cast<void>(call("run_on_own_queue", p));
    std::string wrong;
    call_and_meanwhile(
        [&] {
            wait(*static_cast<cmwq::work_base*>(p.item));
            wrong = call("has_finished", p);
        },
        p.opened);
    queue.flush();
    static_cast<void>(call("end_own_queue", p));
    return wrong;
}

std::string program_cancels() {
    return waits_for_plugin([](cmwq::work_base& w) { w.cancel_sync(); });
}

std::string item_waits_for_item() {
    return waits_for_plugin([](cmwq::work_base& w) {
        machine m;
        cmwq::work waits{[&] { w.flush(); }};
        m.q->queue(waits);
        waits.flush();
    });
}

const copies::named_case cases[] = {{"flush() of a running item", in_plugin<flush_running>},
                                    {"cancel_sync() of a running item", in_plugin<cancel_running>},
                                    {"~work() of a running item", in_plugin<destroy_running>},
                                    {"cancel_sync() of an armed timer", in_plugin<cancel_armed>},
                                    {"cancel() of a pending item", in_plugin<pending>},
                                    {"an item waits for itself", in_plugin<itself>},
                                    {"this_work in the plugin", in_plugin<own_run>},
                                    {"blocking_region in the plugin", blocking_region_is_seen},
                                    {"a queue is destroyed with items of the plugin", queue_is_destroyed},
                                    {"the program cancels an item of the plugin", program_cancels},
                                    {"an item of the program waits for one of the plugin", item_waits_for_item},
                                    {"items of both wait for each other", cycle_is_found},
                                    {"task groups of the plugin", in_plugin<groups>},
                                    {"a forked child", in_plugin<forked>}};

} // namespace

int main() {
    return copies::each_in_a_child(cases, "as in one copy", [] {
        plugin = ::dlopen(CMWQ_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        return plugin != nullptr;
    });
}
