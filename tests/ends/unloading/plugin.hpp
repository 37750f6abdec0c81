// SPDX-License-Identifier: BSL-1.0
//
// What the program calls in its plugin.
#pragma once

#include <cmwq/work.hpp>

using make_item = cmwq::work_base*();
using free_item = void(cmwq::work_base*);
