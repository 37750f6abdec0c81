// SPDX-License-Identifier: BSL-1.0
//
// The fault backend: the std backend with injected faults, all of which can occur in reality.
#pragma once

#define CMWQ_SYNC 1
#define CMWQ_NS v0_fault
