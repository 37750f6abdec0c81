// SPDX-License-Identifier: BSL-1.0
//
// The engine as one translation unit: the source file of the target cmwq::compiled, unless CMWQ_UNITY_BUILD is OFF. The
// target defines CMWQ_COMPILED for this file and for all targets that link it.
#include <cmwq/engine.hpp>
