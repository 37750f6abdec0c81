// SPDX-License-Identifier: BSL-1.0
//
// Many blocked items, many pending items, and many queues at once. Measures the time to make them, the memory of each,
// and whether everything is given back: idle threads end soon, and the memory returns to the system.
#include "measurement.hpp"
#include "peers.hpp"
#include "thread_limits.hpp"

#include <cmwq/cmwq.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

namespace scale { namespace {

using namespace std::chrono_literals;

constexpr unsigned ceiling = 2048; // the largest max_active

/// Returns a function that counts the pools of the runtime: each has one line in the dump.
auto pools(cmwq::runtime& rt) {
    return [&rt] {
        const std::string text = rt.dump();
        unsigned n = 0;
        for (std::size_t at = text.find("\npool["); at != std::string::npos; at = text.find("\npool[", at + 1)) ++n;
        return n;
    };
}

// --- Blocked items ---------------------------------------------------------------------------------------------------

bool blocked_once(const settings& s, cmwq::runtime& rt, const char* what, unsigned kept) {
    measurement m(s, pools(rt), what, s.blocked);
    {
        std::counting_semaphore<> leave{0};
        std::atomic<unsigned> entered{0};
        std::vector<std::unique_ptr<cmwq::workqueue<cmwq::unbound>>> queues;
        for (unsigned first = 0; first < s.blocked; first += ceiling) {
            const std::string name = "blocked " + std::to_string(queues.size());
            queues.push_back(std::make_unique<cmwq::workqueue<cmwq::unbound>>(
                rt, cmwq::options<cmwq::unbound>{.name = name, .max_active = ceiling}));
            for (unsigned i = first; i < std::min(s.blocked, first + ceiling); ++i) {
                queues.back()->post([&] {
                    ++entered;
                    leave.acquire();
                });
            }
        }
        const bool all = wait_for(s.patience_seconds, [&] { return entered == s.blocked; });
        m.at_peak();
        leave.release(s.blocked);
        if (!all) {
            std::printf("only %u of %u items have started: the system creates no more threads\n", entered.load(),
                        s.blocked);
            return false;
        }
    } // the destructors drain the queues
    return m.at_end(kept);
}

bool blocked(const settings& s, cmwq::runtime& rt) {
    if (const std::string reason = reason_against(s.blocked); !reason.empty()) {
        std::printf("%u blocked items need as many threads, and %s: left out\n", s.blocked, reason.c_str());
        return true;
    }
    // The runtime keeps the records of workers for later workers, and the allocator keeps the memory between them.
    constexpr unsigned kept = 2048;
    const bool fine = blocked_once(s, rt, "items blocked, unbound", kept);
    return blocked_once(s, rt, "items blocked, once more", 0) && fine;
}

// --- Pending items ---------------------------------------------------------------------------------------------------

/// Blocks a queue with max_active 1, so that all later items stay pending.
class plug {
public:
    explicit plug(cmwq::workqueue_base& q) {
        q.post([this] { leave_.acquire(); });
    }
    void pull() { leave_.release(); }

private:
    std::binary_semaphore leave_{0};
};

struct counts_itself {
    explicit counts_itself(std::atomic<unsigned>& n) : ran(n) {}
    void run() { ran.fetch_add(1, std::memory_order_relaxed); }
    std::atomic<unsigned>& ran;
    cmwq::work_member<&counts_itself::run> item{*this};
};

template <class P>
bool pending_items(const settings& s, cmwq::runtime& rt, cmwq::options<P> o, bool intrusive) {
    const std::string what = std::string(intrusive ? "items pending, " : "closures pending, ") + std::string(P::name);
    o.name = what;
    std::atomic<unsigned> ran{0};
    measurement m(s, pools(rt), what, s.pending);
    {
        std::vector<std::unique_ptr<counts_itself>> items;
        cmwq::workqueue<P> q{rt, std::move(o)};
        plug hold(q);
        for (unsigned i = 0; i < s.pending; ++i) {
            if (intrusive) q.queue(items.emplace_back(std::make_unique<counts_itself>(ran))->item);
            else q.post([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
        }
        m.at_peak();
        hold.pull();
        q.drain();
    }
    const bool exact = ran == s.pending;
    if (!exact) std::printf("  %u of %u have run\n", ran.load(), s.pending);
    return m.at_end() && exact;
}

bool pending(const settings& s, cmwq::runtime& rt) {
    bool fine = pending_items<cmwq::bound>(s, rt, {.max_active = 1}, true);
    fine = pending_items<cmwq::bound>(s, rt, {.max_active = 1}, false) && fine;
    fine = pending_items<cmwq::unbound>(s, rt, {.max_active = 1}, true) && fine;
    fine = pending_items<cmwq::ordered>(s, rt, {}, true) && fine;
    return fine;
}

// --- Queues ----------------------------------------------------------------------------------------------------------

template <class P>
bool queues_of(const settings& s, cmwq::runtime& rt) {
    measurement m(s, pools(rt), "queues, " + std::string(P::name), s.queues);
    std::atomic<unsigned> ran{0};
    {
        std::vector<std::unique_ptr<cmwq::workqueue<P>>> queues;
        queues.reserve(s.queues);
        for (unsigned i = 0; i < s.queues; ++i) queues.push_back(std::make_unique<cmwq::workqueue<P>>(rt, "queue"));
        for (const auto& q : queues) q->post([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
        for (const auto& q : queues) q->flush();
        m.at_peak();
    }
    const bool exact = ran == s.queues;
    if (!exact) std::printf("  %u of %u items have run\n", ran.load(), s.queues);
    return m.at_end() && exact;
}

bool queues(const settings& s, cmwq::runtime& rt) {
    bool fine = queues_of<cmwq::bound>(s, rt);
    fine = queues_of<cmwq::unbound>(s, rt) && fine;
    fine = queues_of<cmwq::elastic>(s, rt) && fine;
    fine = queues_of<cmwq::ordered>(s, rt) && fine;
    fine = queues_of<cmwq::bh>(s, rt) && fine;
    return fine;
}

/// Makes every pool create its threads, also those for bottom halves and those that find blocked workers, and allocates
/// the first pages of all structures.
void warm_up(cmwq::runtime& rt, cmwq::workqueue<cmwq::unbound>& keeps_pool) {
    cmwq::workqueue<> q{rt, "warm-up"};
    std::counting_semaphore<> next_has_run{0};
    for (const unsigned cpu : rt.cpus()) {
        q.post_on(cpu, [&] { next_has_run.acquire(); });
        q.post_on(cpu, [&] { next_has_run.release(); });
    }
    keeps_pool.post([] {});
    cmwq::workqueue<cmwq::bh> halves{rt, "warm-up, halves"};
    for (const unsigned cpu : rt.cpus()) halves.post_on(cpu, [] {});
    q.flush();
    halves.flush();
    keeps_pool.flush();
}

int run(const settings& s) {
    cmwq::runtime rt{{.idle_timeout = 200ms}};
    cmwq::workqueue<cmwq::unbound> keeps_pool{rt, "keeps the unbound pools"};
    warm_up(rt, keeps_pool);
    static_cast<void>(wait_for(2, [&] { return rt.stats().threads <= 2 * (rt.cpus().size() + 1); }));
    std::printf("idle timeout 200 ms; sizeof(work_base) %zu; baseline: %u threads, %u pools, RSS %.1f MiB\n",
                sizeof(cmwq::work_base), bench::threads_of_process(), pools(rt)(),
                static_cast<double>(bench::memory::trimmed().resident_bytes) / (1 << 20));
    measurement::print_head();
    bool fine = blocked(s, rt);
    fine = pending(s, rt) && fine;
    fine = queues(s, rt) && fine;
    if (s.peers) measure_peers(s);
    return fine ? 0 : 1;
}

}} // namespace scale

int main(int argc, char** argv) {
    scale::settings s;
    CLI::App app{"Many items and queues at once: time, memory, threads, and the memory that is not given back."};
    app.add_option("--blocked", s.blocked, "items that are blocked at once")->capture_default_str();
    app.add_option("--pending", s.pending, "items that are pending in one queue")->capture_default_str();
    app.add_option("--queues", s.queues, "queues of each policy")->capture_default_str();
    app.add_option("--patience", s.patience_seconds, "seconds after which a wait fails")->capture_default_str();
    app.add_option("--spare", s.spare_mib, "MiB that may remain in use")->capture_default_str();
    app.add_flag("!--no-peers", s.peers, "do not measure Boost.Asio and oneTBB");
    CLI11_PARSE(app, argc, argv);
    return scale::run(s);
}
