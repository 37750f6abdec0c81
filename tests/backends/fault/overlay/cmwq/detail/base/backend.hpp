// SPDX-License-Identifier: BSL-1.0
//
// The fault backend: the real thing, with faults thrown in, all of which the real thing may show some day.
#pragma once

#define CMWQ_SYNC 1
#define CMWQ_NS v0_fault
