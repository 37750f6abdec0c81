// SPDX-License-Identifier: BSL-1.0
//
// The synchronization backend, and the inline namespace that carries its name, so that object files built with
// different backends do not link together.
//
// This is the only backend that is installed. The tests have others (tests/backends/), whose headers come first on the
// include path and replace some headers of base/ and sync/.
#pragma once

#define CMWQ_SYNC 0 ///< the number of the backend; this one: std::atomic, futexes and POSIX threads
#define CMWQ_NS v0_std
