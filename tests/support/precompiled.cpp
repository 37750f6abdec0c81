// SPDX-License-Identifier: BSL-1.0
//
// This file has no code: CMake needs a source file to compile precompiled.hpp.
