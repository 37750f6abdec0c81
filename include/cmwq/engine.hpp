// SPDX-License-Identifier: BSL-1.0
//
// The engine: the bodies of all functions that the other headers only declare. A program that defines CMWQ_COMPILED
// includes it in one file of its own, or links the CMake target cmwq::compiled, which has such a file. In all other
// programs <cmwq/runtime.hpp> includes it.
#pragma once

#include <cmwq/detail/topo/topology.ipp>
#include <cmwq/runtime.hpp>

#include <cmwq/detail/engine/engine.ipp>
