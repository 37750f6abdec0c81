// SPDX-License-Identifier: BSL-1.0
//
// pool_finder: what the floors below pool_table need of the pools of a runtime.
#pragma once

#include <cmwq/fwd.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

class item_pool;
class worker;

/// The base of pool_table. Pool ids are unique in the process; those of a runtime are contiguous. Any thread may call
/// every member.
///
/// Letters: I set by the constructor
class pool_finder {
public:
    static constexpr std::uint64_t nr_pool_ids = std::uint64_t{1} << 24; // of 2^54 ids: work_access::location

    pool_finder(const pool_finder&) = delete;
    pool_finder& operator=(const pool_finder&) = delete;

    /// The first pool id, which identifies the runtime.
    [[nodiscard]] std::uint64_t id() const noexcept { return first_pool_id_; }
    /// The number by which reports name a pool: unique in its runtime.
    [[nodiscard]] static constexpr unsigned number_of(std::uint64_t pool_id) noexcept {
        return static_cast<unsigned>(pool_id % nr_pool_ids);
    }
    [[nodiscard]] bool owns(std::uint64_t pool_id) const noexcept { return pool_id - first_pool_id_ < nr_pool_ids; }
    [[nodiscard]] virtual item_pool& pool(std::uint64_t pool_id) noexcept = 0;
    /// The id of the pool with workers that runs `w`; `none` if no pool does.
    [[nodiscard]] virtual std::uint64_t id_of_runner(const work_base& w, std::uint64_t none) const noexcept = 0;
    /// As sentinel::arm() and works(), of the sentinel of that CPU.
    virtual void arm_sentinel(unsigned index) noexcept = 0;
    [[nodiscard]] virtual bool sentinel_works(unsigned index) const noexcept = 0;
    /// Asks the manager thread to join the thread of `w`. Its last call of the library; only destructors of
    /// thread_local objects may follow.
    virtual void thread_leaves(worker& w) noexcept = 0;

protected:
    explicit pool_finder(std::uint64_t first_pool_id) noexcept : first_pool_id_(first_pool_id) {}
    ~pool_finder() = default;

private:
    const std::uint64_t first_pool_id_; // I
};

}}} // namespace cmwq::CMWQ_NS::detail
