// SPDX-License-Identifier: BSL-1.0
//
// The model backend: a deterministic scheduler that searches interleavings, or simulates CPUs in virtual time.
#pragma once

#define CMWQ_SYNC 2
#define CMWQ_NS v0_model
