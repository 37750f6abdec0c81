// SPDX-License-Identifier: BSL-1.0
//
// A test case that runs for each policy of a list, which it finds in the variable `policy`.
#pragma once

#include "any_policy.hpp"
#include "catch.hpp"

// POLICY_TEST_CASE("name", "tags", list) { ... }
#define POLICY_TEST_CASE(TITLE, TAGS, ...) CMWQ_TEST_POLICY_CASE(__COUNTER__, TITLE, TAGS, __VA_ARGS__)
#define CMWQ_TEST_POLICY_CASE(NUMBER, ...) CMWQ_TEST_POLICY_FUNCTION(NUMBER, __VA_ARGS__)
#define CMWQ_TEST_POLICY_FUNCTION(NUMBER, TITLE, TAGS, ...)                                                            \
    static void policy_test_case_##NUMBER(const cmwq_test::any_policy& policy);                                        \
    TEST_CASE(TITLE, TAGS) {                                                                                           \
        for (const cmwq_test::any_policy& each : cmwq_test::policies_in(__VA_ARGS__{})) {                              \
            DYNAMIC_SECTION(each.name) { policy_test_case_##NUMBER(each); }                                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void policy_test_case_##NUMBER([[maybe_unused]] const cmwq_test::any_policy& policy)
