// A plugin that contains the library and uses queues of the program.
#include "plugin.hpp"

#include <cmwq/cmwq.hpp>

#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <sys/wait.h>
#include <system_error>

using namespace std::chrono_literals;
using copies::call_and_meanwhile;
using copies::parts;
using copies::stay;

#define CASE extern "C" [[gnu::visibility("default")]] const char*

namespace {

using unbound_queue = cmwq::workqueue<cmwq::unbound>;

unbound_queue& queue_of(const parts& p) { return *static_cast<unbound_queue*>(p.queue); }

// `wait(item)` is called during a run of the item and must wait for its end.
template <class Wait>
const char* waits_for_a_run(parts& p, const Wait& wait) {
    stay s;
    std::optional<cmwq::work<std::function<void()>>> item(std::in_place, std::ref(s));
    queue_of(p).queue(*item);
    s.entered.acquire();
    bool after_the_run = false;
    call_and_meanwhile(
        [&] {
            wait(item);
            after_the_run = s.finished;
        },
        [&] { s.leave.release(); });
    queue_of(p).flush(); // prevents a crash after a failure
    return after_the_run ? "" : "it has not waited";
}

} // namespace

CASE flush_running(parts& p) {
    return waits_for_a_run(p, [](auto& item) { item->flush(); });
}

CASE cancel_running(parts& p) {
    return waits_for_a_run(p, [](auto& item) { item->cancel_sync(); });
}

CASE destroy_running(parts& p) {
    return waits_for_a_run(p, [](auto& item) { item.reset(); });
}

CASE cancel_armed(parts& p) {
    std::atomic<int> runs{0};
    cmwq::delayed_work item{[&] { ++runs; }};
    queue_of(p).queue_after(1h, item);
    if (!item.cancel_sync()) return "nothing was pending";
    if (item.pending()) return "it is still pending";
    queue_of(p).drain();
    return runs == 0 ? "" : "it has run";
}

CASE cancel_pending(parts& p) {
    stay s;
    std::atomic<int> runs{0};
    cmwq::work first{std::ref(s)};
    cmwq::work behind{[&] { ++runs; }};
    queue_of(p).set_max_active(1);
    queue_of(p).queue(first);
    s.entered.acquire();
    queue_of(p).queue(behind);
    const bool cancelled = behind.cancel();
    s.leave.release();
    queue_of(p).flush();
    queue_of(p).set_max_active(64);
    return !cancelled ? "nothing was pending" : runs != 0 ? "it has run" : "";
}

CASE wait_for_itself(parts& p) {
    int refused = 0;
    cmwq::work<std::function<void()>>* self = nullptr;
    cmwq::work<std::function<void()>> item{[&] {
        const auto refuses = [&](auto call) {
            try {
                call();
            } catch (const std::system_error& e) {
                if (e.code() == std::errc::resource_deadlock_would_occur) ++refused;
            }
        };
        refuses([&] { self->flush(); });
        refuses([&] { self->cancel_sync(); });
        refuses([&] { queue_of(p).flush(); });
    }};
    self = &item;
    queue_of(p).queue(item);
    queue_of(p).flush();
    return refused == 3 ? "" : "a wait for itself was not refused";
}

CASE know_own_run(parts& p) {
    bool item_known = false, queue_known = false, queue_drained = false;
    cmwq::work<std::function<void()>>* self = nullptr;
    cmwq::work next{[&] { queue_drained = true; }};
    cmwq::work<std::function<void()>> item{[&] {
        item_known = cmwq::this_work::current() == self;
        queue_known = cmwq::this_work::queue() == &queue_of(p);
        cmwq::this_work::describe("in the plugin");
        queue_of(p).queue(next);
    }};
    self = &item;
    queue_of(p).queue(item);
    queue_of(p).flush();
    next.flush();
    if (cmwq::this_work::current() != nullptr) return "a thread without an item has one";
    return !item_known     ? "the item is not known"
           : !queue_known  ? "the queue is not known"
           : queue_drained ? ""
                           : "lost";
}

CASE announce_blocking(parts& p) {
    auto& bound = *static_cast<cmwq::workqueue_base*>(p.bound);
    std::binary_semaphore go{0};
    cmwq::work waits{[&] {
        const cmwq::blocking_region region;
        go.acquire();
    }};
    cmwq::work opens{[&] { go.release(); }};
    bound.queue(waits);
    bound.queue(opens);
    waits.flush();
    opens.flush();
    return ""; // the program checks its counters
}

// The program destroys its queue while it contains items of the plugin.
namespace {
stay held;
std::atomic<int> ran_late{0};
cmwq::work<std::reference_wrapper<stay>>* first_held = nullptr;
struct count_one {
    void operator()() const { ++ran_late; }
};
cmwq::work<count_one>* late[3];
} // namespace

CASE leave_items(parts& p) {
    first_held = new cmwq::work{std::ref(held)};
    queue_of(p).queue(*first_held);
    held.entered.acquire();
    for (auto*& w : late) {
        w = new cmwq::work{count_one{}};
        queue_of(p).queue(*w);
    }
    p.item = first_held;
    p.opened = [] { held.leave.release(); };
    return "";
}

CASE have_items_run(parts&) {
    const bool ran = held.finished && ran_late == 3;
    delete first_held;
    for (auto* w : late) delete w;
    return ran ? "" : "not all items have run";
}

// An item of the plugin and an item of the program wait for each other.
namespace {
std::binary_semaphore in_cycle{0};
std::atomic<int> nr_refused{0};
cmwq::work<std::function<void()>>* of_plugin = nullptr;
} // namespace

CASE begin_cycle(parts& p) {
    auto* const of_program = static_cast<cmwq::work_base*>(p.item);
    of_plugin = new cmwq::work<std::function<void()>>{[of_program] {
        in_cycle.release();
        try {
            of_program->flush();
        } catch (const std::system_error&) {
            ++nr_refused;
        }
    }};
    queue_of(p).queue(*of_plugin);
    in_cycle.acquire();
    p.item = static_cast<cmwq::work_base*>(of_plugin);
    return "";
}

CASE end_cycle(parts&) {
    delete of_plugin;
    return nr_refused == 0 ? "" : "refused";
}

CASE use_in_forked_child(parts& p) {
    cmwq::work item{[] {}};
    queue_of(p).queue(item);
    item.flush();
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120); // ends a child that hangs
        std::atomic<int> ran{0};
        cmwq::work afresh{[&] { ++ran; }};
        const bool rejected = queue_of(p).queue(item) == cmwq::queue_status::rejected && !item.cancel_sync();
        cmwq::system_unbound_wq().queue(afresh);
        afresh.flush();
        ::_exit(rejected && ran == 1 ? 7 : 1);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) != child) {}
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? "" : "the child could not go on";
}

// Cases that use a queue of the plugin.
namespace {
std::optional<cmwq::runtime> own_runtime;
std::optional<unbound_queue> own_queue;
} // namespace

CASE make_own_queue(parts& p) {
    own_runtime.emplace();
    own_queue.emplace(*own_runtime, "plugin");
    p.queue = &*own_queue;
    return "";
}

CASE run_on_own_queue(parts& p) {
    held.finished = false;
    first_held = new cmwq::work{std::ref(held)};
    own_queue->queue(*first_held);
    held.entered.acquire();
    p.item = static_cast<cmwq::work_base*>(first_held);
    p.opened = [] { held.leave.release(); };
    return "";
}

CASE has_finished(parts&) { return held.finished ? "" : "it has not finished"; }

CASE end_own_queue(parts&) {
    delete first_held;
    own_queue.reset();
    own_runtime.reset();
    return "";
}

CASE wait_for_groups(parts& p) {
    std::atomic<int> ran{0};
    cmwq::workqueue<cmwq::elastic> elastic{*static_cast<cmwq::runtime*>(p.runtime),
                                           {.name = "groups", .max_active = 1, .min_active = 1}};
    cmwq::task_group outer(elastic);
    for (int i = 0; i < 10; ++i) {
        outer.run([&] {
            cmwq::task_group inner(elastic);
            for (int k = 0; k < 10; ++k) inner.run([&] { ++ran; });
            inner.wait();
        });
    }
    outer.wait();
    return ran == 100 ? "" : "tasks are missing";
}

// --- two copies ------------------------------------------------------------------------------------------------------

CASE use_own_runtime(parts&) {
    cmwq::runtime rt;
    cmwq::workqueue<cmwq::elastic> q{rt, "own"};
    std::atomic<int> ran{0};
    cmwq::delayed_work timer{[&] { ++ran; }};
    q.queue_after(1ms, timer);
    timer.flush();
    cmwq::task_group group(q);
    for (int i = 0; i < 10; ++i) group.run([&] { ++ran; });
    group.wait();
    cmwq::work on_global{[&] { ++ran; }};
    cmwq::system_wq().queue(on_global);
    on_global.flush();
    return ran == 12 && rt.dump().find("own") != std::string::npos ? "" : "not all items have run";
}

// These items are never destroyed: this copy could not find out whether they run.
namespace {
std::atomic<int> nr_ran{0}, nr_aware{0};
void count_run() {
    ++nr_ran;
    nr_aware += cmwq::this_work::current() != nullptr || cmwq::this_work::queue() != nullptr;
}
} // namespace

CASE queue_items(parts& p) {
    auto& fast = *static_cast<cmwq::workqueue<cmwq::bh>*>(p.fast);
    queue_of(p).post(count_run);
    fast.post(count_run);
    auto* const item = new cmwq::work{count_run};
    auto* const timer = new cmwq::delayed_work{count_run};
    if (queue_of(p).queue(*item) != cmwq::queue_status::queued) return "queue() is refused";
    if (queue_of(p).queue_after(1ms, *timer) != cmwq::queue_status::queued) return "queue_after() is refused";
    return "";
}

CASE have_queued_items_run(parts&) {
    return nr_ran != 4 ? "not all items have run" : nr_aware != 0 ? "an item knows a run of the other copy" : "";
}

namespace {
bool waited = false;
}

CASE queue_item_that_waits(parts& p) {
    queue_of(p).post([] {
        const cmwq::blocking_region region;
        cmwq::workqueue<cmwq::unbound> q{"of the plugin"};
        bool ran = false;
        cmwq::work inner{[&] { ran = true; }};
        q.queue(inner);
        inner.flush();
        waited = ran;
    });
    return "";
}

CASE has_waited(parts&) { return waited ? "" : "it has not waited"; }

namespace {
/// An item that is pending on the queue of the program, which runs one item at a time.
auto& item_there(parts& p) {
    static cmwq::work<void (*)()>& item = *new cmwq::work<void (*)()>{count_run};
    queue_of(p).post([] { std::binary_semaphore{0}.acquire(); });
    queue_of(p).queue(item);
    return item;
}
} // namespace

CASE flush_queue(parts& p) { return queue_of(p).flush(), ""; }
CASE drain_queue(parts& p) { return queue_of(p).drain(), ""; }
CASE destroy_queue(parts& p) { return delete &queue_of(p), ""; }
CASE set_limit(parts& p) { return queue_of(p).set_max_active(3), ""; }
CASE apply_attributes(parts& p) { return queue_of(p).apply(cmwq::attrs{}.nice(1)), ""; }
CASE make_queue(parts& p) {
    const cmwq::workqueue<> q{*static_cast<cmwq::runtime*>(p.runtime), "of the plugin"};
    return "";
}
CASE make_group(parts& p) {
    const cmwq::task_group group(queue_of(p));
    return "";
}
CASE freeze(parts& p) { return static_cast<cmwq::runtime*>(p.runtime)->freeze(), ""; }
CASE dump(parts& p) { return static_cast<void>(static_cast<cmwq::runtime*>(p.runtime)->dump()), ""; }
CASE flush_item(parts& p) { return item_there(p).flush(), ""; }
CASE cancel_item(parts& p) { return item_there(p).cancel(), ""; }
CASE disable_item(parts& p) { return item_there(p).disable_sync(), ""; }
CASE destroy_item(parts& p) { return delete &item_there(p), ""; }
CASE cancel_timer(parts& p) {
    auto* const timer = new cmwq::delayed_work{count_run};
    queue_of(p).queue_after(1h, *timer);
    timer->cancel();
    return "";
}
