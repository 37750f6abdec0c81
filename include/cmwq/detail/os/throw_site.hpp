// SPDX-License-Identifier: BSL-1.0
//
// Calling a function whose exceptions nobody handles, so that the program ends where they are thrown.
#pragma once

#include <cmwq/detail/config.hpp>

#include <unwind.h>

// Where it works: the directive below has to be the only one of its kind in its function, and thread sanitizers add code
// that brings another one with it.
#if (defined(__x86_64__) || defined(__aarch64__)) && defined(__ELF__) && !defined(__SANITIZE_THREAD__)
#define CMWQ_KEEPS_THROW_SITE 1
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#undef CMWQ_KEEPS_THROW_SITE
#define CMWQ_KEEPS_THROW_SITE 0
#endif
#endif
#else
#define CMWQ_KEEPS_THROW_SITE 0
#endif

namespace cmwq::inline CMWQ_NS::detail::os {

#if CMWQ_KEEPS_THROW_SITE

#define CMWQ_TEXT_OF(x) #x
#define CMWQ_TEXT(x) CMWQ_TEXT_OF(x)
#define CMWQ_NO_HANDLER "cmwq_" CMWQ_TEXT(CMWQ_NS) "_no_handler"

/// What the unwinder asks about the frame of call_without_handler() while it looks for a handler. A noexcept function
/// would say "here", and the stack would be unwound as far as that, and be gone, before the program ends. This says that
/// there is none and that it need not go on; `throw` then calls std::terminate() by itself, with everything in place.
inline _Unwind_Reason_Code find_no_handler(int /*version*/, _Unwind_Action actions, _Unwind_Exception_Class /*kind*/,
                                           _Unwind_Exception* /*what*/, _Unwind_Context* /*frame*/) {
    return (actions & _UA_SEARCH_PHASE) != 0 ? _URC_FATAL_PHASE1_ERROR : _URC_CONTINUE_UNWIND;
}

[[gnu::used, gnu::visibility("hidden")]] inline constinit const _Unwind_Personality_Fn
    no_handler asm(CMWQ_NO_HANDLER) = &find_no_handler;

/// `f(arg)`. What it throws ends the program, with the throw site on the stack: no destructor has run.
template <class A>
[[gnu::noinline, gnu::no_instrument_function]] void call_without_handler(void (*f)(A&), A& arg) {
    asm volatile(".cfi_personality 0x9b, " CMWQ_NO_HANDLER); // by way of a pointer, relative, in 4 bytes
    f(arg);
    asm volatile(""); // or the call would be a jump, and the frame gone
}

#undef CMWQ_NO_HANDLER
#undef CMWQ_TEXT
#undef CMWQ_TEXT_OF

#else

/// `f(arg)`. What it throws ends the program, here: the stack has been unwound so far.
template <class A>
void call_without_handler(void (*f)(A&), A& arg) noexcept {
    f(arg);
}

#endif

} // namespace cmwq::inline CMWQ_NS::detail::os
