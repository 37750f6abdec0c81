// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/engine/env/event_reporter.hpp>

#include <cmwq/detail/engine/env/event_reporter.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "child.hpp"
#include "core_of.hpp"
#include "event_log.hpp"

#include <cmwq/runtime.hpp>

#include <memory>
#include <pthread.h>
#include <semaphore>
#include <string>
#include <vector>

namespace {

namespace detail = cmwq::detail;
using kind = cmwq::event::kind;

/// A reporter, and what it has delivered.
struct desk {
    std::vector<cmwq::event> heard;
    detail::service_requests requests;
    cmwq::runtime_options options{.on_event = [this](const cmwq::event& e) { heard.push_back(e); }};
    detail::observers observers;
    detail::event_reporter events{options, requests, observers};

    bool post(unsigned n) {
        return events.post(kind::rescued, 0, n, [n] { return "number " + std::to_string(n); });
    }
};

} // namespace

TEST_CASE("event_reporter: events keep their order; beyond the number of records they are lost and counted") {
    desk d;
    unsigned n = 0;
    while (d.post(n)) ++n;
    CHECK(n >= 16);
    CHECK(d.events.nr_lost() == 1);
    CHECK(!d.post(n));
    CHECK(d.events.nr_lost() == 2);
    CHECK(!d.events.all_delivered());
    CHECK(d.heard.empty()); // nothing is delivered on the thread that posts
    d.events.deliver_posted();
    CHECK(d.events.all_delivered());
    REQUIRE(d.heard.size() == n);
    for (unsigned i = 0; i < n; ++i) CHECK(d.heard[i].message == "number " + std::to_string(i));
    CHECK(d.post(n));
    d.events.deliver_posted();
    CHECK(d.heard.back().cpu == n);
}

TEST_CASE("event_reporter: a function that computes for long gets the advice that its queue can follow") {
    desk d;
    d.events.cpu_hog(nullptr, "keyed", 0, true, 1);
    d.events.deliver_posted();
    d.events.cpu_hog(nullptr, "bound", 0, false, 1);
    d.events.deliver_posted();
    REQUIRE(d.heard.size() == 2);
    CHECK_THAT(d.heard[0].message, Catch::EndsWith("it belongs on a queue that is unbound"));
    CHECK_THAT(d.heard[1].message, Catch::EndsWith("it belongs on a queue that is unbound, or cpu_intensive"));
}

TEST_CASE("event_reporter: a kind that is reported once is reported later if the first event of it was lost") {
    desk d;
    while (d.post(0)) {}
    d.events.no_thread(1, EAGAIN);
    d.events.deliver_posted();
    CHECK(d.heard.back().what == kind::rescued);
    d.events.no_thread(2, EAGAIN);
    d.events.no_thread(3, EAGAIN);
    const std::size_t before = d.heard.size();
    d.events.deliver_posted();
    REQUIRE(d.heard.size() == before + 1);
    CHECK(d.heard.back().what == kind::no_thread);
    CHECK(d.heard.back().cpu == 2);
    CHECK(d.heard.back().error == EAGAIN);
    CHECK_THAT(d.heard.back().message,
               Catch::Contains("CPU 2: cannot make a thread, and tries again: Resource temporarily unavailable"));
}

TEST_CASE("event_reporter: the facts of an event live until it is delivered, or end with the caller if it is lost") {
    desk d;
    const auto fact = std::make_shared<int>(0);
    const auto post = [&] {
        return d.events.post(kind::rescued, 0, 0, [kept = fact](cmwq::event& e) { e.message = "n"; });
    };
    CHECK(post());
    CHECK(fact.use_count() == 2);
    d.events.deliver_posted();
    CHECK(fact.use_count() == 1);
    CHECK(d.heard.back().message == "n");
    while (post()) {}
    const long kept = fact.use_count();
    CHECK(!post());
    CHECK(fact.use_count() == kept);
    d.events.deliver_posted();
    CHECK(fact.use_count() == 1);
}

TEST_CASE("event_reporter: an event that nobody is told of takes no record") {
    detail::service_requests requests;
    const cmwq::runtime_options silent;
    detail::observers nobody;
    detail::event_reporter events{silent, requests, nobody};
    for (int i = 0; i < 100; ++i) CHECK(events.post(kind::rescued, 0, 0, [] { return std::string(); }));
    CHECK(events.all_delivered());
    CHECK(events.nr_lost() == 0);
    CHECK(events.has_audience(kind::stalled));
    CHECK(!events.has_audience(kind::rescued));
}

TEST_CASE("event_reporter: an observer hears what else nobody is told of, and nothing more is printed") {
    struct listener final : cmwq::observer {
        int nr_heard = 0;
        void reported(const cmwq::event& e) noexcept override { nr_heard += e.what == kind::rescued ? 1 : 0; }
    };
    const cmwq_test::outcome o = cmwq_test::in_child([] {
        listener one, other;
        detail::service_requests requests;
        const cmwq::runtime_options silent;
        detail::observers both;
        detail::event_reporter events{silent, requests, both};
        both.add(one);
        both.add(other);
        events.post(kind::rescued, 0, 0, [] { return std::string("rescued"); });
        events.deliver_posted();
        both.remove(one);
        events.post(kind::rescued, 0, 0, [] { return std::string("rescued"); });
        events.deliver_posted();
        both.remove(other);
        cmwq_test::findings f;
        f.expect(1, one.nr_heard == 1, "the first one, until it was removed");
        f.expect(2, other.nr_heard == 2, "the second one");
        f.expect(4, !events.has_audience(kind::rescued), "nobody is left");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
    CHECK(o.stderr_text.empty());
}

TEST_CASE("event_reporter: the destructor of a runtime returns when all events have been delivered on cmwq/watch") {
    std::vector<std::string> threads;
    std::binary_semaphore inside{0};
    {
        cmwq::runtime rt{{.on_event = [&](const cmwq::event& e) {
            char name[16] = "";
            ::pthread_getname_np(::pthread_self(), name, sizeof name);
            threads.emplace_back(name);
            if (e.cpu == 0) inside.acquire();
        }}};
        for (unsigned i = 0; i < 10; ++i)
            cmwq_test::core_of(rt).env().events.post(kind::rescued, 0, i, [] { return std::string(); });
        CHECK(rt.stats().events_lost == 0);
        inside.release();
    }
    CHECK(threads == std::vector<std::string>(10, "cmwq/watch"));
}

TEST_CASE("event_reporter: a listener that does not return costs events and runtime_stats counts them") {
    std::binary_semaphore entered{0}, leave{0};
    int heard = 0;
    cmwq::runtime rt{{.on_event = [&](const cmwq::event&) {
        if (heard++ != 0) return;
        entered.release();
        leave.acquire();
    }}};
    const auto post = [&] {
        return cmwq_test::core_of(rt).env().events.post(kind::rescued, 0, 0, [] { return std::string(); });
    };
    REQUIRE(post());
    entered.acquire();
    int posted = 1;
    while (post()) ++posted;
    CHECK(rt.stats().events_lost == 1);
    leave.release();
    REQUIRE(cmwq_test::all_told(rt));
    CHECK(heard == posted);
    CHECK(rt.stats().events_lost == 1);
}
