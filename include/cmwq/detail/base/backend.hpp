// SPDX-License-Identifier: BSL-1.0
//
// The synchronisation backend, and the inline namespace that carries its name: two object files that were built with
// different backends do not link together.
//
// This is the only backend that is installed. The tests have two others, which replace some headers of base/ and sync/ by
// their own: those come first on the include path (tests/backends/).
#pragma once

#define CMWQ_SYNC 0 ///< which backend, as a number: std::atomic, futexes and POSIX threads
#define CMWQ_NS v0_std
