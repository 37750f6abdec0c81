// SPDX-License-Identifier: BSL-1.0
//
// Catch2 with its main(), where the system's library cannot be linked.
#define CATCH_CONFIG_MAIN
#include "catch.hpp"
