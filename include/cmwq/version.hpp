// SPDX-License-Identifier: BSL-1.0
//
// The version of the library; CMakeLists.txt reads it here.
#pragma once

#define CMWQ_VERSION_MAJOR 0 ///< first number of the version
#define CMWQ_VERSION_MINOR 1 ///< second number: rises with every change of the interface
#define CMWQ_VERSION_PATCH 0 ///< third number
