// SPDX-License-Identifier: BSL-1.0
//
// The only source file of the target cmwq::compiled. The target defines CMWQ_COMPILED for this file and for all targets
// that link it.
#include <cmwq/engine.hpp>
