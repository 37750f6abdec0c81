// SPDX-License-Identifier: BSL-1.0
//
// Bodies of rescuer: the loop of its thread.

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/threads/rescue_calls.hpp>
#include <cmwq/detail/engine/threads/rescuer.hpp>

#include <cstdio>
#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

CMWQ_INLINE rescuer::rescuer(queue_face& q) : queue_(q) {
    if (const int error = q.env.threads.start(thread_, &rescuer::thread_main, this); error != 0) {
        throw std::system_error(error, std::generic_category(),
                                "cmwq: " + describe_queue(q.name) + ": cannot make its rescuer");
    }
}

CMWQ_INLINE void rescuer::stop() noexcept {
    requests.request_end();
    thread_.join();
}

// To run items the thread was bound to the CPUs of their pools.
CMWQ_INLINE void rescuer::return_to_wait_cpus() noexcept {
    if (requests.take_cpus(wait_cpus_)) is_on_wait_cpus_ = false;
    if (is_on_wait_cpus_ || wait_cpus_.empty() || !queue_.env.cpus.binds_threads()) return;
    is_on_wait_cpus_ = true; // if the call fails, these CPUs have just gone, and follow() will be called
    static_cast<void>(bind_this_thread(wait_cpus_));
}

CMWQ_INLINE void rescuer::thread_main(void* self) { static_cast<rescuer*>(self)->serve(); }

CMWQ_INLINE void rescuer::serve() {
    tid_.store(this_thread_id(), relaxed);
    thread_attributes a{.own = queue_.env.threads.own()};
    std::snprintf(a.name, sizeof a.name, "cmwq/R:%s", queue_.name.c_str());
    queue_.env.events.thread_refusals_of(apply_to_this_thread(a), a);
    for (;;) {
        const bool last = requests.must_end();
        // Also the pwqs whose items workers have run meanwhile: only the end of rescue() allows a pwq to be freed.
        while (pool_workqueue* pwq = requests.next()) {
            pwq->rescued_in->rescue(*pwq, requests);
            is_on_wait_cpus_ = false;
        }
        if (last) break;
        return_to_wait_cpus();
        requests.wait();
    }
}

}}} // namespace cmwq::CMWQ_NS::detail
