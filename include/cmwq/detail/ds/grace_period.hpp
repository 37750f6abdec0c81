// SPDX-License-Identifier: BSL-1.0
//
// grace_period: lets one thread replace what others are just reading, and wait until nobody reads the old one.
#pragma once

#include <cmwq/detail/ds/grace_counts.hpp>

#include <memory>

namespace cmwq::inline CMWQ_NS::detail {

/// With counters of its own.
class grace_period : private std::unique_ptr<grace_counts::stripe[]>, public grace_counts {
    using storage = std::unique_ptr<grace_counts::stripe[]>; // a base: it is there before those who use it

public:
    explicit grace_period(unsigned nr_stripes)
        : storage(std::make_unique<stripe[]>(nr_stripes)), grace_counts(storage::get(), nr_stripes) {}
};

} // namespace cmwq::inline CMWQ_NS::detail
