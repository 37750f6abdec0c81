// exits: 0
// says: all 18 cases: independent, or refused
// proves: life-18
// A program and a plugin with a copy of the library each. Each copy works on its own runtimes. An item may be queued on
// a queue of the other copy; whatever else is done with an object of the other copy is refused with a sentence that
// says how to share one. Each case runs in a process of its own.
#include "each_in_a_child.hpp"
#include "plugin.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <sys/wait.h>

using copies::parts;

namespace {

void* plugin = nullptr;

const char* call(const char* name, parts& p) { return reinterpret_cast<copies::test_case>(::dlsym(plugin, name))(p); }

/// The objects of the program that the plugin gets.
struct machine {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::unbound> q{rt, {.name = "program", .max_active = 1, .min_active = 1}};
    cmwq::workqueue<cmwq::bh> fast{rt, "fast"};
    parts p{.queue = &q, .fast = &fast, .runtime = &rt};
};

std::string plugin_on_its_own() {
    machine m;
    return call("use_own_runtime", m.p);
}

std::string item_of_the_plugin_runs() {
    machine m;
    std::string wrong = call("queue_items", m.p);
    m.q.drain();
    m.fast.drain();
    if (wrong.empty()) wrong = call("have_queued_items_run", m.p);
    return wrong;
}

std::string item_of_the_plugin_waits_for_its_own() {
    machine m;
    static_cast<void>(call("queue_item_that_waits", m.p));
    m.q.drain();
    return call("has_waited", m.p);
}

template <const char* Name>
std::string refused() {
    int ends[2];
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGABRT, SIG_DFL);
        ::alarm(100); // ends a child that waits
        ::dup2(ends[1], 2);
        machine m;
        static_cast<void>(call(Name, m.p));
        std::_Exit(0);
    }
    ::close(ends[1]);
    std::string said;
    char buffer[256];
    for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) return "it is not refused";
    const bool named = said.find("of another copy of the library") != std::string::npos;
    return named && said.find("cmwq::compiled") != std::string::npos ? "" : "it says: " + said;
}

/// A plugin with another backend.
template <const char* Name>
std::string other_build_is_refused() {
    plugin = ::dlopen(CMWQ_TEST_OTHER_BUILD, RTLD_NOW | RTLD_LOCAL);
    return plugin == nullptr ? ::dlerror() : refused<Name>();
}

constexpr char flush_queue[] = "flush_queue", drain_queue[] = "drain_queue", destroy_queue[] = "destroy_queue",
               set_limit[] = "set_limit", apply[] = "apply_attributes", make_queue[] = "make_queue",
               make_group[] = "make_group", freeze[] = "freeze", dump[] = "dump", flush_item[] = "flush_item",
               cancel_item[] = "cancel_item", disable_item[] = "disable_item", destroy_item[] = "destroy_item",
               cancel_timer[] = "cancel_timer";

const copies::named_case cases[] = {{"a runtime of the plugin", plugin_on_its_own},
                                    {"items of the plugin on queues of the program", item_of_the_plugin_runs},
                                    {"such an item waits on its own side", item_of_the_plugin_waits_for_its_own},
                                    {"flush() of a queue", refused<flush_queue>},
                                    {"drain() of a queue", refused<drain_queue>},
                                    {"destroying a queue", refused<destroy_queue>},
                                    {"set_max_active()", refused<set_limit>},
                                    {"apply()", refused<apply>},
                                    {"a queue on the runtime", refused<make_queue>},
                                    {"a group on the queue", refused<make_group>},
                                    {"freeze()", refused<freeze>},
                                    {"dump()", refused<dump>},
                                    {"flush() of an item", refused<flush_item>},
                                    {"cancel() of an item", refused<cancel_item>},
                                    {"disable_sync() of an item", refused<disable_item>},
                                    {"destroying an item", refused<destroy_item>},
                                    {"cancel() of a timer", refused<cancel_timer>},
                                    {"another build", other_build_is_refused<flush_queue>}};

} // namespace

int main() {
    return copies::each_in_a_child(cases, "independent, or refused", [] {
        plugin = ::dlopen(CMWQ_TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        return plugin != nullptr;
    });
}
