// SPDX-License-Identifier: BSL-1.0
//
// The functions that code compiled with -fsanitize=thread calls for each of its accesses: the interface of
// ThreadSanitizer, whose own library is not linked. So the plain accesses of the library are counted as well as those
// of its atomics, and the library's own headers need no change.
#include <counting/scheduler.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

using cmwq::detail::counting::access_kind;
using cmwq::detail::counting::scheduler;

void report(const volatile void* address, std::size_t size, access_kind k, const void* code) noexcept {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    s->access(reinterpret_cast<std::uintptr_t>(address), size, k, code);
}

// memory_order as an int, with the values of the C++ ABI. On x86 a seq_cst store is a locked operation as well.
constexpr int relaxed = __ATOMIC_RELAXED, seq_cst = __ATOMIC_SEQ_CST;
constexpr int order_of(int order) noexcept { return order & 0x7fff; } // the upper bits are hints

constexpr access_kind kind_of_store(int order) noexcept {
    return order_of(order) == seq_cst ? access_kind::locked : access_kind::atomic_write;
}

} // namespace

#define CMWQ_CODE __builtin_return_address(0)

// Only one OS thread runs, so the operations themselves are plain or relaxed ones.
#define CMWQ_ATOMICS(bits)                                                                                             \
    using a##bits = std::uint##bits##_t;                                                                               \
    a##bits __tsan_atomic##bits##_load(const volatile a##bits* a, int) {                                               \
        report(a, bits / 8, access_kind::atomic_read, CMWQ_CODE);                                                      \
        return *a;                                                                                                     \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile a##bits* a, a##bits v, int order) {                                      \
        report(a, bits / 8, kind_of_store(order), CMWQ_CODE);                                                          \
        *a = v;                                                                                                        \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_exchange(volatile a##bits* a, a##bits v, int) {                                      \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_exchange_n(a, v, relaxed);                                                                     \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_fetch_add(volatile a##bits* a, a##bits v, int) {                                     \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_fetch_add(a, v, relaxed);                                                                      \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_fetch_sub(volatile a##bits* a, a##bits v, int) {                                     \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_fetch_sub(a, v, relaxed);                                                                      \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_fetch_and(volatile a##bits* a, a##bits v, int) {                                     \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_fetch_and(a, v, relaxed);                                                                      \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_fetch_or(volatile a##bits* a, a##bits v, int) {                                      \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_fetch_or(a, v, relaxed);                                                                       \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_fetch_xor(volatile a##bits* a, a##bits v, int) {                                     \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_fetch_xor(a, v, relaxed);                                                                      \
    }                                                                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_strong(volatile a##bits* a, a##bits* expected, a##bits v, int, int) {  \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_compare_exchange_n(a, expected, v, false, relaxed, relaxed);                                   \
    }                                                                                                                  \
    bool __tsan_atomic##bits##_compare_exchange_weak(volatile a##bits* a, a##bits* expected, a##bits v, int, int) {    \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        return __atomic_compare_exchange_n(a, expected, v, false, relaxed, relaxed);                                   \
    }                                                                                                                  \
    a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits* a, a##bits expected, a##bits v, int, int) {   \
        report(a, bits / 8, access_kind::locked, CMWQ_CODE);                                                           \
        __atomic_compare_exchange_n(a, &expected, v, false, relaxed, relaxed);                                         \
        return expected;                                                                                               \
    }

#define CMWQ_PLAIN(bytes)                                                                                              \
    void __tsan_read##bytes(void* a) { report(a, bytes, access_kind::read, CMWQ_CODE); }                               \
    void __tsan_write##bytes(void* a) { report(a, bytes, access_kind::write, CMWQ_CODE); }                             \
    void __tsan_unaligned_read##bytes(void* a) { report(a, bytes, access_kind::read, CMWQ_CODE); }                     \
    void __tsan_unaligned_write##bytes(void* a) { report(a, bytes, access_kind::write, CMWQ_CODE); }

#pragma GCC diagnostic ignored "-Wmissing-declarations"
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wreserved-identifier"
#endif

extern "C" {

CMWQ_ATOMICS(8)
CMWQ_ATOMICS(16)
CMWQ_ATOMICS(32)
CMWQ_ATOMICS(64)

CMWQ_PLAIN(1)
CMWQ_PLAIN(2)
CMWQ_PLAIN(4)
CMWQ_PLAIN(8)
CMWQ_PLAIN(16)

void __tsan_read_range(void* a, unsigned long size) {
    if (size != 0) report(a, size, access_kind::read, CMWQ_CODE);
}
void __tsan_write_range(void* a, unsigned long size) {
    if (size != 0) report(a, size, access_kind::write, CMWQ_CODE);
}
void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
    if (size != 0) {
        report(from, size, access_kind::read, CMWQ_CODE);
        report(to, size, access_kind::write, CMWQ_CODE);
    }
    return std::memcpy(to, from, size);
}
void* __tsan_memmove(void* to, const void* from, unsigned long size) {
    if (size != 0) {
        report(from, size, access_kind::read, CMWQ_CODE);
        report(to, size, access_kind::write, CMWQ_CODE);
    }
    return std::memmove(to, from, size);
}
void* __tsan_memset(void* to, int value, unsigned long size) {
    if (size != 0) report(to, size, access_kind::write, CMWQ_CODE);
    return std::memset(to, value, size);
}
void __tsan_vptr_update(void** a, void*) { report(a, sizeof(void*), access_kind::write, CMWQ_CODE); }
void __tsan_vptr_read(void** a) { report(a, sizeof(void*), access_kind::read, CMWQ_CODE); }

void __tsan_atomic_thread_fence(int) {}
void __tsan_atomic_signal_fence(int) {}
void __tsan_init() {}
void __tsan_func_entry(void* caller) {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    s->self().callers.push_back(caller);
}
void __tsan_func_exit() {
    scheduler* const s = scheduler::current();
    if (s == nullptr) return;
    const scheduler::section inside;
    auto& callers = s->self().callers;
    if (!callers.empty()) callers.pop_back(); // the thread may have entered the function before the run
}

} // extern "C"
