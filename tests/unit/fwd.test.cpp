// SPDX-License-Identifier: BSL-1.0
#include <cmwq/fwd.hpp>

#include <cmwq/fwd.hpp> // a second time: tests the include guard

#include "catch.hpp"

namespace {

// The declarations of <cmwq/fwd.hpp> are enough here.
cmwq::runtime* make_runtime(const cmwq::runtime_options& o);
int count(const cmwq::workqueue<>& q, const cmwq::workqueue<cmwq::elastic>& r);
void listen(const cmwq::event& e, cmwq::clock_source& c, cmwq::thread_source& t);

} // namespace

#include <cmwq/async.hpp>
#include <cmwq/cmwq.hpp>

#include <memory>

namespace {

cmwq::runtime* make_runtime(const cmwq::runtime_options& o) { return new cmwq::runtime(o); }
int count(const cmwq::workqueue<>& q, const cmwq::workqueue<cmwq::elastic>& r) {
    return static_cast<int>(q.stats().started + r.stats().started);
}
void listen(const cmwq::event& /*e*/, cmwq::clock_source& /*c*/, cmwq::thread_source& /*t*/) {}

} // namespace

TEST_CASE("fwd: the declarations agree with the definitions") {
    const std::unique_ptr<cmwq::runtime> rt(make_runtime({}));
    const cmwq::workqueue<> q{*rt, "q"};
    const cmwq::workqueue<cmwq::elastic> r{*rt, "r"};
    CHECK(count(q, r) == 0);
    static_cast<void>(&listen);
}
