// SPDX-License-Identifier: BSL-1.0
#include "peers.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#if CMWQ_BENCH_TBB
#include <tbb/task_arena.h>
#endif

#include <atomic>
#include <cstdio>
#include <semaphore>
#include <vector>

namespace scale {

namespace {

/// `submit` passes a closure to a single thread of the other library. The first closure blocks, so that all later ones
/// wait.
template <class Submit>
void pending_closures(const settings& s, const char* what, Submit submit) {
    measurement m(s, {}, what, s.pending);
    std::atomic<unsigned> ran{0};
    std::binary_semaphore leave{0};
    submit([&] { leave.acquire(); });
    for (unsigned i = 0; i < s.pending; ++i) submit([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
    m.at_peak();
    leave.release();
    if (!wait_for(s.patience_seconds, [&] { return ran == s.pending; }))
        std::printf("  %u of %u have run\n", ran.load(), s.pending);
    static_cast<void>(m.at_end());
}

void strands(const settings& s, boost::asio::thread_pool& pool) {
    measurement m(s, {}, "strands, Boost.Asio", s.queues);
    std::atomic<unsigned> ran{0};
    {
        using strand = boost::asio::strand<boost::asio::thread_pool::executor_type>;
        std::vector<strand> all;
        all.reserve(s.queues);
        for (unsigned i = 0; i < s.queues; ++i) all.push_back(boost::asio::make_strand(pool));
        for (const strand& one : all) boost::asio::post(one, [&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
        if (!wait_for(s.patience_seconds, [&] { return ran == s.queues; }))
            std::printf("  %u of %u items have run\n", ran.load(), s.queues);
        m.at_peak();
    }
    static_cast<void>(m.at_end());
}

} // namespace

void measure_peers(const settings& s) {
    boost::asio::thread_pool pool{1};
    pending_closures(s, "closures pending, Boost.Asio", [&](auto f) { boost::asio::post(pool, f); });
    strands(s, pool);
#if CMWQ_BENCH_TBB
    tbb::task_arena arena{1, 0}; // one worker, no slot for this thread
    std::binary_semaphore started{0};
    arena.enqueue([&] { started.release(); });
    started.acquire(); // the arena's threads exist now and do not end
    pending_closures(s, "closures pending, oneTBB", [&](auto f) { arena.enqueue(f); });
#endif
}

} // namespace scale
