// SPDX-License-Identifier: BSL-1.0
#include <cmwq/runtime.hpp>
