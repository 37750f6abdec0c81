// SPDX-License-Identifier: BSL-1.0
//
// Exceptions that leave a work function: the handler of the queue gets the same object; without a handler the program
// ends where they are thrown.
#include "any_queue.hpp"
#include "catch.hpp"
#include "child.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "policy_test_case.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/async.hpp>
#include <cmwq/cmwq.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <execinfo.h>
#include <functional>
#include <iterator>
#include <memory>
#include <semaphore>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unistd.h>
#include <utility>

using namespace cmwq_test;

namespace {

/// Records its address: a copy of the exception has another one.
struct original : std::runtime_error {
    original() : std::runtime_error("the original"), made_at(this) {}
    const original* made_at;
};

// Data that the terminate handler of a child checks.
std::atomic<bool> unwound{false};
void* return_address = nullptr; // of the function that throws; on the stack as long as that function

struct notices_unwinding {
    ~notices_unwinding() { unwound = true; }
};

[[gnu::noinline]] void throws() {
    return_address = __builtin_return_address(0);
    throw original();
}

[[gnu::noinline]] void calls_what_throws() {
    const notices_unwinding here;
    throws();
}

/// The terminate handler of a child: the child exits with 0 if all data is as expected.
[[noreturn]] void look_around() {
    findings f;
    void* frames[100];
    backtrace(frames, 1); // the first call loads libraries
    const int n = backtrace(frames, static_cast<int>(std::size(frames)));
    f.expect(1, !unwound, "destructors have run");
    f.expect(2, std::find(frames, frames + n, return_address) != frames + n, "the throw site is not on the stack");
    try {
        std::rethrow_exception(std::current_exception());
    } catch (const original& e) {
        f.expect(4, e.made_at == &e, "a copy");
    } catch (...) {
        f.expect(4, false, "another exception");
    }
    ::_exit(f.wrong());
}

} // namespace

// For bottom halves the only promise is that the program ends: tests/death/bh_throws.cpp.
// proves: life-21
POLICY_TEST_CASE("exceptions: an unhandled exception ends the program where it is thrown and nothing is unwound", "",
                 threaded_policies) {
    const bool is_posted = GENERATE(true, false);
    const outcome o = in_child([&] {
        std::set_terminate(look_around);
        any_queue q{policy, "q"};
        cmwq::work item{[] { calls_what_throws(); }};
        if (is_posted) q.post([] { calls_what_throws(); });
        else q.queue(item);
        q.flush();
        return 8;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("exceptions: an unhandled exception on a rescuer ends the program where it is thrown") {
    const outcome o = in_child([] {
        std::set_terminate(look_around);
        scarce_runtime s;
        cmwq::workqueue<> q{s.rt, {.name = "rescued", .rescuer = true}};
        s.threads.refuse();
        q.post([] { calls_what_throws(); });
        q.flush();
        return 8;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("exceptions: an exception that is rethrown ends the program where it is rethrown") {
    const outcome o = in_child([] {
        std::set_terminate(look_around);
        cmwq::workqueue<> q{"q"};
        q.post([] {
            try {
                throw original();
            } catch (...) {
                const notices_unwinding here;
                return_address = __builtin_return_address(0);
                throw;
            }
        });
        q.flush();
        return 8;
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

// proves: life-21
POLICY_TEST_CASE("exceptions: the handler of a queue gets the same exception object during the run of its item", "",
                 every_policy) {
    unwound = false;
    int originals = 0, in_its_run = 0; // not atomic: one run follows the other
    std::thread::id thrown_by, handled_by;
    any_options o;
    cmwq::workqueue_base* queue = nullptr;
    cmwq::work_base* item = nullptr;
    o.on_exception = [&](const std::exception_ptr& thrown) {
        handled_by = std::this_thread::get_id();
        in_its_run += cmwq::this_work::queue() == queue && cmwq::this_work::current() == item && unwound ? 1 : 0;
        try {
            std::rethrow_exception(thrown);
        } catch (const original& e) {
            originals += e.made_at == &e ? 1 : 0;
        }
    };
    any_queue q{policy, std::move(o)};
    cmwq::work throwing{[&] {
        thrown_by = std::this_thread::get_id();
        calls_what_throws();
    }};
    queue = &q.base();
    item = &throwing;
    for (int i = 0; i < 3; ++i) {
        q.queue(throwing);
        throwing.flush();
    }
    CHECK(originals == 3);
    CHECK(in_its_run == 3);
    CHECK(thrown_by == handled_by);
    CHECK_THROWS_AS(q.async([]() -> int { throw original(); }).get(), original); // the future gets it, not the handler
    CHECK(originals == 3);
}

namespace {

/// A work function that runs until the test releases it, and counts its concurrent runs.
struct visit {
    std::atomic<int> inside{0}, most{0}, runs{0};
    std::counting_semaphore<> entered{0}, leave{0};

    void operator()() {
        const int now = ++inside;
        if (now > most) most = now;
        ++runs;
        entered.release();
        leave.acquire();
        --inside;
    }
};

/// Makes an item of the size of a closure of post() that captures one reference. So it gets the memory of the last such
/// closure.
auto* new_item(visit& v, visit& same) {
    return new cmwq::work{[&v, &same] { &v == &same ? v() : void(); }};
}
using item_of_a_visit = std::remove_pointer_t<decltype(new_item(std::declval<visit&>(), std::declval<visit&>()))>;

} // namespace

// While the handler runs, the address of the closure belongs to no item. A new item may have that address and may run
// beside the handler, and other threads may wait for it.
// proves: life-3
POLICY_TEST_CASE(
    "exceptions: a closure that throws is destroyed before its handler runs; a new item may have its address", "",
    crowded_policies) {
    visit v, handler;
    const void* address = nullptr;
    std::unique_ptr<item_of_a_visit> item;
    cmwq::work_base* seen_in_handler = nullptr;
    any_options o;
    o.on_exception = [&](const std::exception_ptr&) {
        item.reset(new_item(v, v)); // on the thread that has just freed the closure
        seen_in_handler = cmwq::this_work::current();
        handler();
    };
    any_queue q{policy, std::move(o)};
    q.post([&address] {
        address = cmwq::this_work::current();
        throw original();
    });
    handler.entered.acquire();
    CHECK(seen_in_handler == nullptr);
    if (item.get() != address) WARN("this allocator did not return the same address again");
    CHECK(q.queue(*item) == cmwq::queue_status::queued);
    v.entered.acquire(); // beside the handler
    CHECK(q.queue(*item) == cmwq::queue_status::queued);
    std::atomic<int> passed{0};
    cmwq::work behind{[&passed] { ++passed; }};
    q.queue(behind);
    behind.flush(); // the worker that took this has put the second instance behind the first
    std::atomic<bool> ended{false};
    std::thread waiting([&] {
        item->cancel_sync();
        ended = v.inside == 0;
    });
    CHECK(eventually([&] { return !item->pending(); })); // cancelled; one run is left to wait for
    handler.leave.release();                             // the end of the handler is not the end of the item
    CHECK(eventually([&] { return q.stats().completed == 2; }));
    v.leave.release(2);
    waiting.join();
    CHECK(ended);
    CHECK(v.runs == 1);
    CHECK(v.most == 1);
}

TEST_CASE("exceptions: a handler that throws ends the program") {
    const outcome o = in_child([] {
        cmwq::options<> options;
        options.on_exception = [](const std::exception_ptr&) { throw std::runtime_error("handler"); };
        cmwq::workqueue<> q{std::move(options)};
        q.post([] { throw original(); });
        q.flush();
        return 0;
    });
    CHECK(o.aborted());
    CHECK(o.says("handler"));
}
