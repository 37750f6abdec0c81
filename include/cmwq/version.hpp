// SPDX-License-Identifier: BSL-1.0
//
// The version; CMakeLists.txt reads it from here.
#pragma once

#define CMWQ_VERSION_MAJOR 0
#define CMWQ_VERSION_MINOR 1
#define CMWQ_VERSION_PATCH 0
