// SPDX-License-Identifier: BSL-1.0
//
// The pools that the suite compares. A pool has
//
//     name()                  its name in the results
//     post(f)                 runs f once, on one of its threads
//     flat_group              run(f) from any thread, wait() outside the pool, once
//     nested_group            run(f) and wait() inside an item of the pool, by the thread that made the group
//     thread_for_each_item    whether each item makes a thread
//
// Users wait for their items before they destroy a pool.
#pragma once

#include "asio_pool.hpp"
#include "async_pool.hpp"
#include "cmwq_pool.hpp"
#include "mutex_pool.hpp"
#include "thread_per_item.hpp"
#if CMWQ_BENCH_TBB
#include "tbb_pool.hpp"
#endif
#if CMWQ_BENCH_TASKFLOW
#include "taskflow_pool.hpp"
#endif
#if CMWQ_BENCH_BS
#include "bs_pool.hpp"
#endif
#if CMWQ_BENCH_STDEXEC
#include "stdexec_pool.hpp"
#endif

#include <cmwq/policy.hpp>

#include <type_traits>

namespace bench {

/// Calls `f(std::type_identity<Pool>{})` for each pool of this library.
template <class F>
void for_each_cmwq_pool(F f) {
    f(std::type_identity<cmwq_pool<cmwq::elastic>>{});
    f(std::type_identity<cmwq_pool<cmwq::bound>>{});
    f(std::type_identity<cmwq_pool<cmwq::unbound>>{});
}

/// Calls `f(std::type_identity<Pool>{})` for each pool of others.
template <class F>
void for_each_peer(F f) {
#if CMWQ_BENCH_TBB
    f(std::type_identity<tbb_pool>{});
#endif
    f(std::type_identity<asio_pool>{});
    f(std::type_identity<mutex_pool<2>>{});
    f(std::type_identity<mutex_pool<64>>{});
    f(std::type_identity<async_pool>{});
    f(std::type_identity<thread_per_item>{});
#if CMWQ_BENCH_TASKFLOW
    f(std::type_identity<taskflow_pool>{});
#endif
#if CMWQ_BENCH_BS
    f(std::type_identity<bs_pool>{});
#endif
#if CMWQ_BENCH_STDEXEC
    f(std::type_identity<stdexec_pool>{});
#endif
}

template <class F>
void for_each_pool(F f) {
    for_each_cmwq_pool(f);
    for_each_peer(f);
}

} // namespace bench
