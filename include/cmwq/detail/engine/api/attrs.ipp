// SPDX-License-Identifier: BSL-1.0
//
// The bodies of attrs that need the definition of cpuset. They are behind the API boundary, because
// <cmwq/workqueue.hpp> does not include that header.

#include <cmwq/attrs.hpp>
#include <cmwq/cpuset.hpp>

#include <utility>

namespace cmwq { inline namespace CMWQ_NS {

CMWQ_API attrs::attrs(const attrs& other)
    : cpus_(other.cpus_ == nullptr ? nullptr : new cpuset(*other.cpus_)), nice_(other.nice_),
      scheduling_(other.scheduling_), affinity_(other.affinity_), strict_(other.strict_) {}

CMWQ_API attrs& attrs::operator=(attrs&& other) noexcept {
    std::swap(cpus_, other.cpus_);
    nice_ = other.nice_;
    scheduling_ = other.scheduling_;
    affinity_ = other.affinity_;
    strict_ = other.strict_;
    return *this;
}

CMWQ_API attrs::~attrs() { delete cpus_; }

CMWQ_API attrs& attrs::cpus(const cpuset& set) {
    delete std::exchange(cpus_, new cpuset(set));
    return *this;
}

CMWQ_API const cpuset& attrs::cpus() const noexcept {
    struct immortal { // never destroyed: queues may be made even while static objects are destroyed
        union {
            cpuset set;
        };
        immortal() noexcept : set() {}
        ~immortal() {} // NOLINT(modernize-use-equals-default): a defaulted one would not compile
    };
    static const immortal none;
    return cpus_ == nullptr ? none.set : *cpus_;
}

CMWQ_API bool attrs::same_cpus(const attrs& other) const noexcept {
    return on_all_cpus() == other.on_all_cpus() && cpus() == other.cpus();
}

}} // namespace cmwq::CMWQ_NS
