// SPDX-License-Identifier: BSL-1.0
//
// Fibers for the model backend: stacks between which one OS thread switches by itself.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <sys/mman.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace cmwq { inline namespace CMWQ_NS { namespace detail::model {

#if defined(__x86_64__)
// Saves the callee-saved registers, which are all that a function call must preserve, and switches the stack.
// ucontext's own function also makes a system call for the signal mask, which takes most of its time.
[[gnu::naked, gnu::noinline]] inline void swap_stacks([[maybe_unused]] void** save, [[maybe_unused]] void* load) {
    asm volatile("pushq %rbp\n\t"
                 "pushq %rbx\n\t"
                 "pushq %r12\n\t"
                 "pushq %r13\n\t"
                 "pushq %r14\n\t"
                 "pushq %r15\n\t"
                 "movq %rsp, (%rdi)\n\t"
                 "movq %rsi, %rsp\n\t"
                 "popq %r15\n\t"
                 "popq %r14\n\t"
                 "popq %r13\n\t"
                 "popq %r12\n\t"
                 "popq %rbx\n\t"
                 "popq %rbp\n\t"
                 "retq\n\t");
}
#endif

/// A stack, and the place where it stopped. A default-constructed fiber stands for the stack of the OS thread.
class fiber {
public:
    fiber() noexcept = default;
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;
    ~fiber() {
        if (stack_ != nullptr) ::munmap(stack_, stack_bytes);
#if defined(__SANITIZE_THREAD__)
        if (stack_ != nullptr && tsan_ != nullptr) __tsan_destroy_fiber(tsan_);
#endif
    }

    /// The next switch to this fiber calls `entry`, which must not return. The old content of the stack is dropped
    /// without unwinding.
    void prepare(void (*entry)()) {
        if (stack_ == nullptr) allocate();
        caught_ = {};
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(stack_, stack_bytes);
        fake_stack_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
        if (tsan_ != nullptr) __tsan_destroy_fiber(tsan_);
        tsan_ = __tsan_create_fiber(0);
#endif
#if defined(__x86_64__)
        auto* top = reinterpret_cast<std::uint64_t*>(static_cast<char*>(stack_) + stack_bytes);
        *--top = 0; // the return address of `entry`, where an unwinder stops; it also aligns the stack
        *--top = reinterpret_cast<std::uint64_t>(entry);
        for (int i = 0; i < 6; ++i) *--top = 0;
        sp_ = top;
#else
        ::getcontext(&context_);
        context_.uc_stack.ss_sp = stack_;
        context_.uc_stack.ss_size = stack_bytes;
        context_.uc_link = nullptr;
        ::makecontext(&context_, entry, 0);
#endif
    }

    /// Continues in `to`; returns when another fiber switches back to `from`.
    static void switch_to(fiber& from, fiber& to) {
        // The C++ runtime keeps the exceptions that are being handled for each OS thread; here each fiber has its own.
        void* globals = abi::__cxa_get_globals();
        std::memcpy(&from.caught_, globals, sizeof(handled));
        std::memcpy(globals, &to.caught_, sizeof(handled));
#if defined(__SANITIZE_THREAD__)
        if (from.tsan_ == nullptr) from.tsan_ = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(to.tsan_, 0);
#endif
#if defined(__SANITIZE_ADDRESS__)
        leaving() = &from;
        __sanitizer_start_switch_fiber(&from.fake_stack_, to.bottom_, to.bytes_);
#endif
#if defined(__x86_64__)
        swap_stacks(&from.sp_, to.sp_);
#else
        ::swapcontext(&from.context_, &to.context_);
#endif
        from.arrived();
    }

    /// `entry` calls this first.
    void arrived() noexcept {
#if defined(__SANITIZE_ADDRESS__)
        fiber* from = leaving();
        __sanitizer_finish_switch_fiber(fake_stack_, &from->bottom_, &from->bytes_);
#endif
    }

private:
    // The first members of __cxa_eh_globals, laid down by the C++ ABI.
    struct handled {
        void* caught = nullptr;
        unsigned uncaught = 0;
    };

    static constexpr std::size_t stack_bytes = 256 * 1024, guard_bytes = 4096;

    void allocate() {
        void* p = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (p == MAP_FAILED) {
            std::fprintf(stderr, "cmwq model: no memory for another stack\n");
            std::abort();
        }
        ::mprotect(p, guard_bytes, PROT_NONE); // an overflow ends the process instead of changing the next stack
        stack_ = p;
#if defined(__SANITIZE_ADDRESS__)
        bottom_ = stack_;
        bytes_ = stack_bytes;
#endif
    }

    void* stack_ = nullptr;
    handled caught_;
#if defined(__x86_64__)
    void* sp_ = nullptr;
#else
    ucontext_t context_{};
#endif
#if defined(__SANITIZE_ADDRESS__)
    static fiber*& leaving() noexcept {
        static fiber* f = nullptr;
        return f;
    }
    void* fake_stack_ = nullptr;
    const void* bottom_ = nullptr;
    std::size_t bytes_ = 0;
#endif
#if defined(__SANITIZE_THREAD__)
    void* tsan_ = nullptr;
#endif
};

}}} // namespace cmwq::CMWQ_NS::detail::model
