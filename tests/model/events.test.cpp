// SPDX-License-Identifier: BSL-1.0
//
// Events: threads post them, and the diagnosis thread delivers them.
//
// When these defects were put into the engine, these searches found them: a wake-up only by the thread that finds the
// inbox empty (it may be stopped); no wake-up at all.
#include "catch.hpp"
#include "model/machine.hpp"

#include <cmwq/detail/engine/env/event_reporter.hpp>

#include <array>
#include <cstdint>
#include <string>

using namespace cmwq_test;

namespace {

namespace detail = cmwq::detail;

/// A reporter, and the loop of the diagnosis thread.
struct desk {
    detail::service_requests requests;
    cmwq::runtime_options options;
    detail::observers observers;
    detail::event_reporter events{
        (options.on_event = [this](const cmwq::event& e) { hear(e.cpu); }, options), requests, observers};
    std::array<unsigned, 4> order{};
    std::array<std::int64_t, 4> when{};
    unsigned nr_heard = 0;

    void hear(unsigned n) {
        model::require(nr_heard < order.size(), "not more events than were posted");
        when[nr_heard] = model::elapsed();
        order[nr_heard++] = n;
    }
    void post(unsigned n) {
        model::require(events.post(cmwq::event::kind::rescued, 0, n, [] { return std::string(); }), "there is room");
    }
    void serve(unsigned until) {
        for (;;) {
            events.deliver_posted();
            if (nr_heard == until) return;
            requests.sleep_as_diagnosis(0);
        }
    }
    [[nodiscard]] unsigned place_of(unsigned n) const {
        unsigned at = 0;
        while (at < nr_heard && order[at] != n) ++at;
        model::require(at < nr_heard, "each event is delivered");
        return at;
    }
};

} // namespace

TEST_CASE("events: each is delivered once and those of one thread in their order") {
    CHECK(model::explore(search("events", 2), [] {
        desk d;
        auto reader = model::spawn([&] { d.serve(4); });
        auto other = model::spawn([&] {
            d.post(3);
            d.post(4);
        });
        d.post(1);
        d.post(2);
        other.join();
        reader.join();
        model::require(d.place_of(1) < d.place_of(2) && d.place_of(3) < d.place_of(4), "in order");
        model::require(d.events.all_delivered(), "all records are free");
    }));
}

TEST_CASE("events: a thread that is stopped while it posts one does not delay those of others") {
    model::options o = search("events-stopped", 1);
    o.stalls = 1;
    CHECK(model::explore(o, [] {
        desk d;
        auto t = model::spawn([&] {
            const model::may_stall here;
            d.post(1);
        });
        auto reader = model::spawn([&] { d.serve(2); });
        d.post(2);
        t.join();
        reader.join();
        model::require(d.when[d.place_of(2)] == 0, "at once: time passes only when no thread can go on");
    }));
}
