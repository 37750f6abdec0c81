// SPDX-License-Identifier: BSL-1.0
//
// Compile-time configuration for all other headers: the inline namespace, the thread safety annotations, assertions.
#pragma once

#if !defined(__linux__) || !defined(__cpp_exceptions) || __cplusplus < 202002L
#error "cmwq needs Linux, C++20 and exceptions: -std=c++20 or later, without -fno-exceptions"
#endif

#include <cmwq/detail/base/backend.hpp>

#include <cstdio>
#include <cstdlib>

// Attributes for clang's thread safety analysis. g++ does not have them.
#if defined(__clang__)
#define CMWQ_TSA(x) __attribute__((x))
#else
#define CMWQ_TSA(x)
#endif
#define CMWQ_GUARDED_BY(m) CMWQ_TSA(guarded_by(m))
#define CMWQ_REQUIRES(...) CMWQ_TSA(requires_capability(__VA_ARGS__))
#define CMWQ_ACQUIRE(...) CMWQ_TSA(acquire_capability(__VA_ARGS__))
#define CMWQ_RELEASE(...) CMWQ_TSA(release_capability(__VA_ARGS__))
#define CMWQ_TRY_ACQUIRE(...) CMWQ_TSA(try_acquire_capability(__VA_ARGS__))
#define CMWQ_EXCLUDES(...) CMWQ_TSA(locks_excluded(__VA_ARGS__))
#define CMWQ_NO_TSA CMWQ_TSA(no_thread_safety_analysis)

// The engine is compiled by each translation unit that includes <cmwq/runtime.hpp>, or, with CMWQ_COMPILED, by the one
// that includes <cmwq/engine.hpp>; the CMake target cmwq::compiled is a library of that one.
//
// CMWQ_API marks the functions that other translation units call (detail/engine_ops.hpp), CMWQ_INLINE all other
// functions of the engine. Without CMWQ_COMPILED the definitions of the former are weak, so that any number of those
// translation units may be linked together. Their declarations are not weak, so that a program without any definition
// fails to link.
#ifdef CMWQ_COMPILED
#define CMWQ_API
#define CMWQ_INLINE
#else
#define CMWQ_API __attribute__((weak))
#define CMWQ_INLINE inline
#endif

// For a small body that every item passes: two places that call it would make the compiler call it. Only in headers:
// with CMWQ_UNITY_BUILD=OFF a translation unit does not see the bodies of the others.
#define CMWQ_HOT_INLINE [[gnu::always_inline]] inline

#if defined(NDEBUG) && !defined(CMWQ_ASSERTIONS)
#define CMWQ_ASSERTS 0
#define CMWQ_ASSERT(cond) static_cast<void>(0)
#else
#define CMWQ_ASSERTS 1
#define CMWQ_ASSERT(cond)                                                                                              \
    ((cond) ? static_cast<void>(0) : ::cmwq::CMWQ_NS::detail::assertion_failed(#cond, __FILE__, __LINE__))
#endif

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
    std::fprintf(stderr, "cmwq: %s:%d: assertion failed: %s\n", file, line, what);
    std::abort();
}

// Two lines of 64 bytes, because the adjacent-line prefetcher of x86 loads pairs of lines.
inline constexpr unsigned cache_line = 128;

}}} // namespace cmwq::CMWQ_NS::detail
