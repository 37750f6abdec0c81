// SPDX-License-Identifier: BSL-1.0
#include <cmwq/policy.hpp>

#include <cmwq/policy.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <string_view>

namespace {

using cmwq::execution_policy;
using cmwq::pool_kind;

// Valid policies: one of the library, some that inherit and override, and one from scratch.
struct named : cmwq::bound {
    static constexpr std::string_view name = "named";
};
struct narrow : cmwq::bound {
    static constexpr unsigned default_max_active = 1;
};
struct widest : cmwq::bound {
    static constexpr unsigned default_max_active = cmwq::max_active_ceiling;
};
struct strict : cmwq::ordered {};
struct from_scratch {
    static constexpr const char* name = "from_scratch"; // a convertible type is enough
    static constexpr pool_kind pool = pool_kind::per_cpu;
    static constexpr bool concurrency_managed = true;
    static constexpr bool may_block = true;
    static constexpr bool fifo = false;
    static constexpr unsigned default_max_active = 7;
};
struct in_turn : cmwq::elastic {
    static constexpr bool local_lists = false;
};
struct strand : cmwq::ordered {
    static constexpr bool concurrency_managed = true;
};
static_assert(execution_policy<in_turn> && execution_policy<strand>);
static_assert(execution_policy<cmwq::bound>);
static_assert(execution_policy<named>);
static_assert(execution_policy<narrow>);
static_assert(execution_policy<widest>);
static_assert(execution_policy<strict>);
static_assert(execution_policy<from_scratch>);

// Invalid policies: no answers, a missing answer, an answer of the wrong type, and forbidden combinations.
struct nothing {};
struct no_limit {
    static constexpr std::string_view name = "no_limit";
    static constexpr pool_kind pool = pool_kind::per_cpu;
    static constexpr bool concurrency_managed = true, may_block = true, fifo = false;
};
struct wrong_type : cmwq::bound {
    static constexpr int name = 5;
};
struct limit_zero : cmwq::bound {
    static constexpr unsigned default_max_active = 0;
};
struct limit_absurd : cmwq::bound {
    static constexpr unsigned default_max_active = cmwq::max_active_ceiling + 1;
};
struct fifo_in_parallel : cmwq::bound {
    static constexpr bool fifo = true;
};
struct fifo_per_cpu : cmwq::bound {
    static constexpr bool fifo = true;
    static constexpr unsigned default_max_active = 1;
};
struct fifo_with_lists : strand {
    static constexpr bool local_lists = true;
};
struct unmanaged_with_lists : cmwq::unbound {
    static constexpr bool local_lists = true;
};
struct per_cpu_with_lists : cmwq::bound {
    static constexpr bool local_lists = true;
};
struct unbound_must_not_block : cmwq::unbound {
    static constexpr bool may_block = false;
};
struct bh_that_blocks : cmwq::bh {
    static constexpr bool may_block = true;
};
struct bh_in_parallel : cmwq::bh {
    static constexpr bool fifo = false;
};
struct unmanaged : cmwq::bound {
    static constexpr bool concurrency_managed = false;
};
struct never_blocks : cmwq::bound {
    static constexpr bool may_block = false;
};
static_assert(!execution_policy<int>);
static_assert(!execution_policy<nothing>);
static_assert(!execution_policy<no_limit>);
static_assert(!execution_policy<wrong_type>);
static_assert(!execution_policy<limit_zero>);
static_assert(!execution_policy<limit_absurd>);
static_assert(!execution_policy<fifo_in_parallel>);
static_assert(!execution_policy<fifo_per_cpu>);
static_assert(!execution_policy<fifo_with_lists>);
static_assert(!execution_policy<unmanaged_with_lists>);
static_assert(!execution_policy<per_cpu_with_lists>);
static_assert(!execution_policy<unbound_must_not_block>);
static_assert(!execution_policy<bh_that_blocks>);
static_assert(!execution_policy<bh_in_parallel>);
static_assert(!execution_policy<unmanaged>);
static_assert(!execution_policy<never_blocks>);

// Without the answer, only a policy that is as elastic in all else has local lists.
struct flexible {
    static constexpr std::string_view name = "flexible";
    static constexpr pool_kind pool = pool_kind::attrs_keyed;
    static constexpr bool concurrency_managed = true, may_block = true, fifo = false;
    static constexpr unsigned default_max_active = 16;
};
struct flexible_fifo : flexible {
    static constexpr bool fifo = true;
    static constexpr unsigned default_max_active = 1;
};
static_assert(execution_policy<flexible> && execution_policy<flexible_fifo>);
static_assert(cmwq::detail::has_local_lists<flexible>() && !cmwq::detail::has_local_lists<flexible_fifo>());
static_assert(!cmwq::detail::has_local_lists<from_scratch>());

} // namespace

TEST_CASE("policy: bound has the documented answers") {
    CHECK(cmwq::bound::name == "bound");
    CHECK(cmwq::bound::pool == pool_kind::per_cpu);
    CHECK(cmwq::bound::default_max_active == 256);
    CHECK(cmwq::max_active_ceiling == 2048);
}

TEST_CASE("policy: the other policies have the documented answers") {
    CHECK((cmwq::unbound::name == "unbound" && cmwq::elastic::name == "elastic"));
    CHECK((cmwq::ordered::name == "ordered" && cmwq::bh::name == "bh"));
    CHECK((cmwq::unbound::pool == pool_kind::attrs_keyed && cmwq::elastic::pool == pool_kind::attrs_keyed));
    CHECK((cmwq::ordered::pool == pool_kind::attrs_keyed && cmwq::bh::pool == pool_kind::dispatcher));
    CHECK((!cmwq::unbound::concurrency_managed && cmwq::elastic::concurrency_managed));
    CHECK((cmwq::unbound::default_max_active == 256 && cmwq::elastic::default_max_active == 256));
    CHECK((cmwq::ordered::fifo && cmwq::ordered::default_max_active == 1));
    CHECK((cmwq::bh::fifo && !cmwq::bh::may_block));
    CHECK((cmwq::elastic::local_lists && !cmwq::bound::local_lists && !cmwq::unbound::local_lists));
    CHECK((!cmwq::ordered::local_lists && !cmwq::bh::local_lists));
}

TEST_CASE("policy: a derived policy overrides some answers and inherits the rest") {
    CHECK(named::name == "named");
    CHECK(named::default_max_active == cmwq::bound::default_max_active);
    CHECK(narrow::name == "bound");
    CHECK(narrow::default_max_active == 1);
}
