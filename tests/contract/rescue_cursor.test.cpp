// SPDX-License-Identifier: BSL-1.0
//
// A rescuer finds the items of its queue among many others and does not search the others again for each item. The test
// counts steps instead of time: in this program the function that goes to the next item of a list counts its calls.
#include <cmwq/detail/engine/ledger/pool_workqueue.hpp>

#include <atomic>
#include <cstdint>

namespace {
std::atomic<std::uint64_t> nr_steps{0};
} // namespace

namespace cmwq { inline namespace CMWQ_NS { namespace detail {
template <>
inline work_base* item_list::next(work_base& w) noexcept {
    nr_steps.fetch_add(1, std::memory_order_relaxed);
    list_node<item_tag>* n = static_cast<list_node<item_tag>&>(w).next;
    return n == &head_ ? nullptr : item(n);
}
}}} // namespace cmwq::CMWQ_NS::detail

#include "catch.hpp"
#include "eventually.hpp"
#include "gate.hpp"
#include "policy_list.hpp"
#include "scarce_runtime.hpp"

#include <cmwq/cmwq.hpp>

#include <memory>
#include <vector>

using namespace cmwq_test;

namespace {

constexpr int nr_foreign = 20'000, nr_own = 500;

template <class P>
cmwq::options<P> wide(cmwq::options<P> o) {
    if constexpr (has_limit<P>) o.max_active = 2048;
    return o;
}

} // namespace

TEMPLATE_LIST_TEST_CASE("rescue: the rescuer looks once at the items of other queues in front of its own", "",
                        crowded_policies) {
    using P = TestType;
    scarce_runtime s;
    cmwq::workqueue<P> with{s.rt, wide(with_rescuer<P>())};
    std::vector<std::unique_ptr<cmwq::workqueue<P>>> foreign;
    for (int i = 0; i < nr_foreign; i += 2000) {
        foreign.push_back(std::make_unique<cmwq::workqueue<P>>(s.rt, wide(cmwq::options<P>{.name = "foreign"})));
    }
    s.threads.refuse();
    gate<P> stays; // the list grows behind its item
    stays.hold(with, s.cpus[0]);
    std::atomic<int> own{0}, others{0};
    for (int i = 0; i < nr_foreign; ++i) {
        foreign[static_cast<std::size_t>(i / 2000)]->post_on(s.cpus[0], [&] { ++others; });
    }
    cmwq::work last{[] {}};
    foreign.back()->queue_on(s.cpus[0], last);
    gate<P> found; // the first item of the queue with a rescuer
    with.queue_on(s.cpus[0], found.item);
    for (int i = 0; i < nr_own; ++i) with.post_on(s.cpus[0], [&] { ++own; });
    const std::uint64_t before = nr_steps;
    stays.open();
    CHECK(eventually([&] { return found.runs == 1; }));
    CHECK(last.cancel()); // the last item that the rescuer has searched
    found.open();
    with.flush();
    const std::uint64_t steps = nr_steps - before;
    CHECK(own == nr_own);
    CHECK(others == 0);
    CAPTURE(steps);
    CHECK(steps >= nr_foreign); // the count works
    CHECK(steps < 3 * nr_foreign / 2);
    s.threads.allow();
    for (const auto& q : foreign) q->drain();
    CHECK(others == nr_foreign);
}

TEST_CASE("rescue: removal of an item in front does not hide another item") {
    // The rescuer remembers the item at which its search has ended. That item and the one before it are cancelled.
    using item = cmwq::work<std::function<void()>>;
    scarce_runtime s;
    cmwq::workqueue<> with{s.rt, with_rescuer<cmwq::bound>()}, other{s.rt, "other"};
    s.threads.refuse();
    std::atomic<int> own{0};
    std::vector<std::unique_ptr<item>> foreign;
    for (int i = 0; i < 30; ++i) foreign.push_back(std::make_unique<item>([] {}));
    gate<cmwq::bound> first, second, third;
    first.hold(with, s.cpus[0]);
    for (std::size_t i = 0; i < 10; ++i) other.queue_on(s.cpus[0], *foreign[i]);
    with.queue_on(s.cpus[0], second.item);
    for (std::size_t i = 10; i < 20; ++i) other.queue_on(s.cpus[0], *foreign[i]);
    with.queue_on(s.cpus[0], third.item);
    first.open();
    CHECK(eventually([&] { return second.runs == 1; })); // the rescuer has searched the first ten items
    CHECK(foreign[9]->cancel());
    CHECK(foreign[8]->cancel());
    with.post_on(s.cpus[0], [&] { ++own; });
    second.open();
    CHECK(eventually([&] { return third.runs == 1; }));
    for (std::size_t i = 0; i < 20; ++i) CHECK(foreign[i]->cancel() == (i != 8 && i != 9));
    for (std::size_t i = 20; i < 30; ++i) other.queue_on(s.cpus[0], *foreign[i]);
    with.post_on(s.cpus[0], [&] { ++own; });
    third.open();
    with.flush();
    CHECK(own == 2);
    for (std::size_t i = 20; i < 30; ++i) CHECK(foreign[i]->cancel());
}
