// SPDX-License-Identifier: BSL-1.0
//
// Nothing: it only makes CMake build precompiled.hpp.
