// SPDX-License-Identifier: BSL-1.0
#include "seed.hpp"

#include <cmwq/detail/config.hpp>

const char* cmwq_test::backend() {
#if CMWQ_SYNC == 0
    return "std";
#else
    return "model";
#endif
}
