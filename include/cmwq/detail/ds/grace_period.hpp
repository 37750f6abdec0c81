// SPDX-License-Identifier: BSL-1.0
//
// grace_period: one thread replaces a value that other threads read, and waits until no thread reads the old value.
#pragma once

#include <cmwq/detail/ds/grace_counts.hpp>

#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As grace_counts, and owns the counters.
class grace_period : private std::unique_ptr<grace_counts::stripe[]>, public grace_counts {
    using storage = std::unique_ptr<grace_counts::stripe[]>; // a base: made before grace_counts, which uses it

public:
    explicit grace_period(unsigned nr_stripes)
        : storage(std::make_unique<stripe[]>(nr_stripes)), grace_counts(storage::get(), nr_stripes) {}
};

}}} // namespace cmwq::CMWQ_NS::detail
