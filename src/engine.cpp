// SPDX-License-Identifier: BSL-1.0
//
// The one source file of the target cmwq::compiled, which defines CMWQ_COMPILED for it and for all that link it.
#include <cmwq/engine.hpp>
