// SPDX-License-Identifier: BSL-1.0
//
// Bodies of bh_thread: start, end and loop of the bottom-half thread of a CPU.

#include <cmwq/detail/engine/bh/bh_thread.hpp>
#include <cmwq/detail/engine/bh/bottom_halves.hpp>
#include <cmwq/detail/sync/this_thread.hpp>

#include <cstdio>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE int bh_thread::start_if_wanted() noexcept {
    if (!wakeup.wanted()) return 0;
    if (!thread_.joinable()) {
        if (const int error = env_.threads.start(thread_, &bh_thread::thread_main, this); error != 0) return error;
        env_.threads.thread_started();
    }
    wakeup.thread_exists();
    return 0;
}

CMWQ_INLINE void bh_thread::request_end() noexcept {
    stop_.store(true, release); // [STOP]
    wakeup.wake();
}

CMWQ_INLINE void bh_thread::join() noexcept {
    if (!thread_.joinable()) return;
    thread_.join();
    env_.threads.thread_ended();
}

CMWQ_INLINE void bh_thread::thread_main(void* self) { static_cast<bh_thread*>(self)->serve(); }

CMWQ_INLINE void bh_thread::serve() noexcept {
    thread_attributes a{.own = env_.threads.own()};
    unsigned binding = env_.cpus.binding();
    if (env_.cpus.binds_threads()) a.cpus = &cpus_;
    std::snprintf(a.name, sizeof a.name, "cmwq/%u:B", cpu_);
    env_.events.thread_refusals_of(apply_to_this_thread(a), a);
    while (!stop_.load(acquire)) { // [STOP]
        wakeup.wait();
        // The CPU may have gone and come back: then the kernel has changed the mask of this thread.
        if (env_.cpus.binds_threads() && (current_cpu() != cpu_ || binding != env_.cpus.binding())) {
            binding = env_.cpus.binding();
            static_cast<void>(bind_this_thread(cpus_));
        }
        // One round of each pool. If a drain leaves items behind, it notifies this thread; the permit starts the next
        // rounds.
        run_bottom_halves(high_, bh_budget::limit::turn);
        run_bottom_halves(normal_, bh_budget::limit::turn);
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
