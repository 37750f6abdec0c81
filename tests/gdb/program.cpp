// SPDX-License-Identifier: BSL-1.0
//
// The program that tests/gdb/check.py looks at. It brings items into each state that the debugger shows, prints
// "ready", and stays as it is until its standard input ends.
//
// With the argument "locked", a worker of the runtime then goes idle. It reads the time under the lock of its pool, in
// reads_the_clock_under_a_lock(), where the test stops it.
#include <cmwq/cmwq.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <semaphore.h>

using namespace std::chrono_literals;

namespace {

/// Waits in sem_wait(), which a debugger sees as the place of the thread.
class gate {
public:
    gate() { ::sem_init(&s_, 0, 0); }
    void post() { ::sem_post(&s_); }
    void wait() {
        while (::sem_wait(&s_) != 0) {}
    }

private:
    sem_t s_;
};

std::atomic<bool> clock_tells{false};

} // namespace

[[gnu::noinline]] void reads_the_clock_under_a_lock() {
    asm volatile("" ::: "memory"); // a place for a breakpoint
}

namespace {

/// Whether the calling thread is a worker of a shared pool. The service thread reads the clock, too, and without a
/// lock.
bool is_shared_worker() {
    char name[16] = {};
    return ::prctl(PR_GET_NAME, name) == 0 && std::string_view(name).starts_with("cmwq/u");
}

class told_clock final : public cmwq::clock_source {
public:
    [[nodiscard]] std::int64_t now() const noexcept override {
        if (clock_tells && is_shared_worker() && clock_tells.exchange(false)) reads_the_clock_under_a_lock();
        timespec t{};
        ::clock_gettime(CLOCK_MONOTONIC, &t);
        return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
    }
    void attach(cmwq::clock_listener&) override {}
    void detach(cmwq::clock_listener&) noexcept override {}
};

gate begun, go_on, short_begun, short_go_on;

} // namespace

// --- what the items run: named functions, which the test looks for ---------------------------------------------------

void blocks_in_bound() {
    begun.post();
    go_on.wait();
}
void waits_for_its_turn() {}
void blocks_in_ordered() {
    cmwq::this_work::describe("row 7 of 9");
    begun.post();
    go_on.wait();
}
void comes_later() {}
void blocks_in_unbound() {
    begun.post();
    go_on.wait();
}
void ends_when_told() {
    short_begun.post();
    short_go_on.wait();
}

struct owner {
    void blocks_as_member() {
        begun.post();
        go_on.wait();
    }
    cmwq::work_member<&owner::blocks_as_member> item{*this};
};

struct blocking_task {
    void operator()() const {
        begun.post();
        go_on.wait();
    }
};

/// A policy of a program's own: ordered, in managed pools.
struct strand : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
};

int main(int argc, char** argv) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); // where only parents may attach
    const bool locked = argc > 1 && std::string_view(argv[1]) == "locked";
    told_clock clock;
    // One CPU, so that all bound items are in the same pool.
    const unsigned cpu = *cmwq::runtime::global().cpus().begin();
    cmwq::runtime rt{{.cpus = {cpu}, .clock = locked ? &clock : nullptr}};

    cmwq::workqueue<cmwq::bound> stuck{rt, {.name = "stuck", .max_active = 1}};
    cmwq::workqueue<cmwq::unbound> wide{rt, {.name = "wide"}};
    cmwq::workqueue<cmwq::elastic> supple{rt, {.name = "supple"}};
    cmwq::workqueue<cmwq::ordered> rows{rt, {.name = "rows"}};
    cmwq::workqueue<strand> actor{rt, {.name = "actor"}};

    cmwq::work holder{&blocks_in_bound}, second{&waits_for_its_turn}, third{&waits_for_its_turn};
    stuck.queue(holder);
    begun.wait();
    stuck.queue(second);
    stuck.queue(third);

    cmwq::work row{&blocks_in_ordered}, next_row{&waits_for_its_turn};
    rows.queue(row);
    begun.wait();
    rows.queue(next_row);

    // Pending while it runs: it waits for its own run.
    cmwq::work again{&blocks_in_unbound};
    wide.queue(again);
    begun.wait();
    wide.queue(again);

    owner member;
    wide.queue(member.item);
    begun.wait();

    cmwq::delayed_work later{&comes_later};
    wide.queue_after(1h, later);

    // An item that waits inside the library for another one.
    auto flushes = [&] {
        begun.post();
        holder.flush();
    };
    cmwq::work flusher{flushes};
    supple.queue(flusher);
    begun.wait();

    // A task group, for which another item waits.
    cmwq::task_group group{supple};
    group.run(blocking_task{});
    begun.wait();
    cmwq::work joiner{[&] {
        begun.post();
        group.wait();
    }};
    wide.queue(joiner);
    begun.wait();

    const cmwq::cpuset some{0, 1, 2, 3, 8};

    if (locked) {
        cmwq::work brief{&ends_when_told};
        wide.queue(brief);
        short_begun.wait();
        clock_tells = true;
        short_go_on.post();
        for (;;) ::pause();
    }

    std::puts("ready");
    std::fflush(stdout);
    char c = 0;
    const bool at_end = ::read(STDIN_FILENO, &c, 1) == 0 && some.size() == 5;
    // The items never end, so the program does not destroy its queues.
    ::_exit(at_end ? 0 : 1);
}
