// SPDX-License-Identifier: BSL-1.0
//
// The engine: what stands behind all other headers. Programs that define CMWQ_COMPILED include it in one file of their
// own, or link the CMake target cmwq::compiled, which does; for all others <cmwq/runtime.hpp> includes it.
#pragma once

#include <cmwq/detail/topo/topology.ipp>
#include <cmwq/runtime.hpp>

#include <cmwq/detail/engine/engine.ipp>
