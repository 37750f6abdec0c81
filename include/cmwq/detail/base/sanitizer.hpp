// SPDX-License-Identifier: BSL-1.0
//
// CMWQ_ADDRESS_SANITIZER, CMWQ_THREAD_SANITIZER: defined if the compiler instruments this translation unit.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define CMWQ_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CMWQ_ADDRESS_SANITIZER
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define CMWQ_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CMWQ_THREAD_SANITIZER
#endif
#endif
