// SPDX-License-Identifier: BSL-1.0
//
// The counting backend: the library runs on a simulated machine of up to 256 CPUs, which counts the accesses to memory.
// The atomics, the mutex protocol and the parker are those of the library; the compiler reports each access.
#pragma once

#define CMWQ_SYNC 3
#define CMWQ_NS v0_counting
