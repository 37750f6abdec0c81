// SPDX-License-Identifier: BSL-1.0
//
// The item that the calling thread runs: how messages name it, and the refusal of what it must not do.
#pragma once

#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>
#include <cmwq/detail/engine/ledger/queue_face.hpp>
#include <cmwq/detail/engine/ledger/run_record.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The item that the calling thread runs under the record `k`, which may be null.
inline item_name name_of_run(const run_record* k) noexcept {
    return k == nullptr ? item_name{} : item_name{k->own_item, k->function.load(relaxed)};
}

/// The item that the calling thread runs, and its queue.
inline std::string describe_own_run() {
    const run_record* const self = own_run();
    if (self == nullptr) return "a thread that runs no item";
    return describe(name_of_run(self)) + " of " + describe_queue(self->current_pwq->queue->name);
}

[[noreturn]] inline void throw_deadlock(const std::string& what) {
    throw std::system_error(std::make_error_code(std::errc::resource_deadlock_would_occur), what);
}

/// An item ends its thread by pthread_exit(). Ends the program.
[[noreturn]] inline void refuse_thread_exit() noexcept {
    std::fprintf(stderr, "cmwq: %s ends the thread that runs it, by pthread_exit() or a cancellation\n",
                 describe_own_run().c_str());
    std::abort();
}

/// As above, for a handler of all exceptions, if that has caught none: pthread_exit() unwinds the stack.
inline void refuse_thread_exit_in_handler() noexcept {
    if (std::current_exception() == nullptr) refuse_thread_exit();
}

/// The record under which the calling thread runs a bottom half; null: it runs none.
inline const run_record* bottom_half_here() noexcept {
    const run_record* const self = this_thread_slots().current_run;
    return self != nullptr && self->is_bottom_half() ? self : nullptr;
}

/// The calling thread runs a bottom half of that queue, which announces that it blocks. Ends the program.
[[noreturn]] inline void refuse_to_block(const queue_face& q) noexcept {
    std::fprintf(stderr,
                 "cmwq: an item of the bottom-half queue \"%s\" blocks: it announces that by a blocking_region\n",
                 q.name.c_str());
    std::terminate();
}

/// Throws std::system_error(operation_not_permitted) if the calling thread runs a bottom half, even if the call would
/// not have to wait now. `what` and `of()` name the call in the message.
template <class Of>
void refuse_in_bottom_half(const char* what, const Of& of) {
    if (bottom_half_here() == nullptr) return;
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            std::string("cmwq: ") + what + of() + " in " + describe_own_run() +
                                ", a bottom half, which must not wait");
}

inline void refuse_in_bottom_half(const char* what) {
    refuse_in_bottom_half(what, [] { return std::string(); });
}

}}} // namespace cmwq::CMWQ_NS::detail
