// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <dispatch/dispatch.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace bench {

/// The global concurrent queue of libdispatch, and its groups. A wait for a group blocks.
class dispatch_pool {
    /// A function on the heap, as libdispatch wants it: a pointer, and a function that takes the pointer.
    template <class F>
    struct boxed {
        using type = std::decay_t<F>;
        static void* make(F&& f) { return new type(std::forward<F>(f)); }
        static void run(void* f) { (*std::unique_ptr<type>(static_cast<type*>(f)))(); }
    };

public:
    static constexpr bool thread_for_each_item = false;

    class flat_group {
    public:
        explicit flat_group(dispatch_pool& pool) : pool_(pool) {}
        ~flat_group() { dispatch_release(group_); }
        flat_group(const flat_group&) = delete;
        flat_group& operator=(const flat_group&) = delete;

        template <class F>
        void run(F&& f) {
            dispatch_group_async_f(group_, pool_.queue_, boxed<F>::make(std::forward<F>(f)), boxed<F>::run);
        }
        void wait() { dispatch_group_wait(group_, DISPATCH_TIME_FOREVER); }

    private:
        dispatch_pool& pool_;
        dispatch_group_t group_ = dispatch_group_create();
    };
    using nested_group = flat_group;

    /// A queue that runs its items one at a time, in order.
    class serial_queue {
    public:
        serial_queue() = default;
        ~serial_queue() { dispatch_release(queue_); }
        serial_queue(const serial_queue&) = delete;
        serial_queue& operator=(const serial_queue&) = delete;

        template <class F>
        void post(F&& f) {
            dispatch_async_f(queue_, boxed<F>::make(std::forward<F>(f)), boxed<F>::run);
        }

    private:
        dispatch_queue_t queue_ = dispatch_queue_create("suite", DISPATCH_QUEUE_SERIAL);
    };

    [[nodiscard]] static std::string name() { return "libdispatch"; }

    template <class F>
    void post(F&& f) {
        dispatch_async_f(queue_, boxed<F>::make(std::forward<F>(f)), boxed<F>::run);
    }

private:
    dispatch_queue_t queue_ = dispatch_get_global_queue(DISPATCH_QUEUE_PRIORITY_DEFAULT, 0);
};

} // namespace bench
