// SPDX-License-Identifier: BSL-1.0
//
// Rescuers run while workers come back and queues are destroyed.
#include "catch.hpp"
#include "eventually.hpp"
#include "scarce_runtime.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

using cmwq::queue_status;
using namespace cmwq_test;
using namespace std::chrono_literals;

namespace {

template <class P>
void queues_go_while_rescuers_come(stress::random& r) {
    scarce_runtime s;
    std::vector<std::unique_ptr<cmwq::workqueue<P>>> queues;
    cmwq::workqueue<P> plain{s.rt, "plain"};
    const unsigned n = 1 + r.below(24);
    for (unsigned i = 0; i < n; ++i) queues.push_back(std::make_unique<cmwq::workqueue<P>>(s.rt, with_rescuer<P>()));
    std::atomic<unsigned> runs{0};
    unsigned queued = 0;
    s.threads.refuse();
    // The first rescuer that runs allows new workers, while the other rescuers are being called.
    const unsigned calls_workers = r.below(4);
    for (auto& q : queues) {
        for (unsigned i = 0, items = 1 + r.below(3); i < items; ++i) {
            const bool calls = calls_workers != 0;
            const auto f = [&, calls] {
                ++runs;
                if (!calls) return;
                s.threads.allow();
                plain.post_on(s.cpus[0], [] {});
            };
            queued +=
                q->post_on(s.cpus[r.below(static_cast<unsigned>(s.cpus.size()))], f) == queue_status::queued ? 1 : 0;
        }
    }
    if (calls_workers == 0 && r.one_in(2)) {
        // Rescuers may run all items before four attempts have been made: attempts are rare while all of them fail.
        while (s.threads.refused() < 4 && runs < queued) stress::block_for(100us);
        stress::block_for(std::chrono::microseconds{r.below(15'000)});
        s.threads.allow();
    }
    unsigned dropped = 0;
    while (!queues.empty()) {
        std::swap(queues[r.below(static_cast<unsigned>(queues.size()))], queues.back());
        if (r.one_in(4)) dropped += static_cast<unsigned>(queues.back()->shutdown(cmwq::cancel_pending));
        queues.pop_back();
    }
    CHECK(runs + dropped == queued);
    s.threads.allow();
    plain.drain();
}

} // namespace

TEST_CASE("stress: queues are destroyed while their rescuers are being called") {
    stress::random r(1);
    const std::ptrdiff_t before = cmwq_test::nr_tasks();
    unsigned rounds = 0;
    for (const stress::box box; box.open(); ++rounds) {
        switch (r.below(4)) {
        case 0: queues_go_while_rescuers_come<cmwq::bound>(r); break;
        case 1: queues_go_while_rescuers_come<cmwq::unbound>(r); break;
        case 2: queues_go_while_rescuers_come<cmwq::elastic>(r); break;
        default: queues_go_while_rescuers_come<cmwq::ordered>(r); break;
        }
    }
    UNSCOPED_INFO(rounds << " rounds");
    CHECK(eventually([&] { return cmwq_test::nr_tasks() == before; }));
}

TEST_CASE("stress: items of queues with rescuers run while threads come and go and pools change") {
    stress::complaints complaints;
    fake_threads threads;
    std::atomic<std::uint64_t> runs{0}, queued{0}, rescued{0};
    {
        cmwq::runtime rt{{.idle_timeout = 1ms, .threads = &threads}};
        cmwq::options<cmwq::unbound> o = with_rescuer<cmwq::unbound>();
        o.max_active = 8;
        cmwq::workqueue<> bound{rt, with_rescuer<cmwq::bound>()};
        cmwq::workqueue<cmwq::unbound> unbound{rt, std::move(o)};
        cmwq::workqueue<cmwq::elastic> elastic{rt, with_rescuer<cmwq::elastic>()};
        cmwq::workqueue<cmwq::ordered> ordered{rt, with_rescuer<cmwq::ordered>()};
        cmwq::workqueue_base* const queues[] = {&bound, &unbound, &elastic, &ordered};
        const stress::box box;
        stress::on_threads(4, [&](unsigned t) {
            stress::random r(10 + t);
            // The items of this thread. Each item uses one queue only.
            std::vector<std::unique_ptr<stress::exclusive>> once;
            std::vector<std::unique_ptr<cmwq::work<std::function<void()>>>> items;
            for (unsigned i = 0; i < 16; ++i) {
                once.push_back(std::make_unique<stress::exclusive>(complaints));
                items.push_back(std::make_unique<cmwq::work<std::function<void()>>>([&, i] {
                    once[i]->run([&] {
                        ++runs;
                        rescued += cmwq::this_work::on_rescuer() ? 1 : 0;
                        if (i % 4 == 0) stress::block_for(50us);
                        if (i == 8) cmwq::blocking([] { stress::block_for(50us); });
                    });
                }));
            }
            while (box.open()) {
                for (unsigned n = 0; n < 50; ++n) {
                    const unsigned i = r.below(16);
                    if (queues[i % 4]->queue(*items[i]) == queue_status::queued) ++queued;
                    if (r.one_in(16) && items[i]->cancel()) --queued;
                }
                if (r.one_in(4)) items[r.below(16)]->flush();
                if (t == 0) r.one_in(2) ? threads.refuse() : threads.allow();
                if (t == 1 && r.one_in(8)) unbound.apply(cmwq::attrs{}.nice(static_cast<int>(r.below(4))));
                if (t == 1 && r.one_in(8)) ordered.apply(cmwq::attrs{}.nice(static_cast<int>(r.below(4))));
                if (t == 2 && r.one_in(8)) bound.set_max_active(1 + r.below(8));
                if (t == 3 && r.one_in(32)) r.one_in(2) ? bound.flush() : ordered.drain();
                if (r.one_in(4)) stress::block_for(1ms);
            }
            for (auto& w : items) w->flush();
        });
        threads.allow();
    }
    CHECK(complaints.text().empty());
    CHECK(runs == queued);
    CHECK(rescued > 0);
}
