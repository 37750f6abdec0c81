// SPDX-License-Identifier: BSL-1.0
//
// grace_period: one thread replaces a value that other threads read, and waits until no thread reads the old value.
#pragma once

#include <cmwq/detail/ds/grace_counts.hpp>

#include <memory>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// As basic_grace_counts, and owns the counters.
template <class Stripe>
class basic_grace_period : private std::unique_ptr<Stripe[]>, public basic_grace_counts<Stripe> {
    using storage = std::unique_ptr<Stripe[]>; // a base: made before the counts, which use it

public:
    explicit basic_grace_period(unsigned nr_stripes)
        : storage(std::make_unique<Stripe[]>(nr_stripes)), basic_grace_counts<Stripe>(storage::get(), nr_stripes) {}
};

using grace_period = basic_grace_period<grace_stripe>;

}}} // namespace cmwq::CMWQ_NS::detail
