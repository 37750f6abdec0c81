// SPDX-License-Identifier: BSL-1.0
#include <cmwq/work.hpp>

#include <cmwq/work.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <memory>
#include <type_traits>

namespace {

struct owner {
    void plain() {}
    int with_result() noexcept { return 1; }
    void constant() const {}
    void constant_noexcept() const noexcept {}
};

template <class T>
constexpr bool pinned = !std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T> &&
                        !std::is_copy_assignable_v<T> && !std::is_move_assignable_v<T>;

using function = void (*)();
using move_only = decltype([p = std::unique_ptr<int>{}] { return *p; });

static_assert(sizeof(cmwq::work_base) <= 48);
static_assert(sizeof(cmwq::work<function>) <= 56, "one word more than the base");

static_assert(pinned<cmwq::work_base>);
static_assert(pinned<cmwq::work<function>>);
static_assert(pinned<cmwq::work<move_only>>);
static_assert(pinned<cmwq::work_member<&owner::plain>>);

// A base is constructed and destroyed only as a part of an item, and never deleted through its type.
static_assert(!std::is_default_constructible_v<cmwq::work_base>);
static_assert(!std::is_destructible_v<cmwq::work_base>);
static_assert(!std::is_polymorphic_v<cmwq::work_base>);

// The callables that an item accepts, and the ways to pass them.
static_assert(std::is_constructible_v<cmwq::work<move_only>, move_only>);
static_assert(!std::is_default_constructible_v<cmwq::work<function>>);
static_assert(!std::is_convertible_v<function, cmwq::work<function>>, "explicit");
static_assert(std::is_nothrow_constructible_v<cmwq::work<function>, function>);
struct throws_when_moved {
    throws_when_moved() = default;
    throws_when_moved(throws_when_moved&&) noexcept(false) {}
    void operator()() {}
};
static_assert(!std::is_nothrow_constructible_v<cmwq::work<throws_when_moved>, throws_when_moved>);
static_assert(std::is_same_v<decltype(cmwq::work{function{}}), cmwq::work<function>>, "CTAD");

// The members that a work_member accepts, and the owners.
static_assert(std::is_nothrow_constructible_v<cmwq::work_member<&owner::plain>, owner&>);
static_assert(!std::is_constructible_v<cmwq::work_member<&owner::plain>, const owner&>);
static_assert(!std::is_constructible_v<cmwq::work_member<&owner::plain>, owner>);
static_assert(std::is_constructible_v<cmwq::work_member<&owner::with_result>, owner&>);
static_assert(std::is_constructible_v<cmwq::work_member<&owner::constant>, const owner&>);
static_assert(std::is_constructible_v<cmwq::work_member<&owner::constant_noexcept>, const owner&>);

// Functions that can be called in a destructor, or in other code that must not throw.
using base = cmwq::work_base;
static_assert(noexcept(std::declval<base&>().cancel()));
static_assert(noexcept(std::declval<const base&>().pending()));
static_assert(noexcept(std::declval<const base&>().busy()));
static_assert(!noexcept(std::declval<base&>().flush()));
static_assert(!noexcept(std::declval<base&>().cancel_sync()));

} // namespace

TEST_CASE("work: the header alone suffices to declare items") { SUCCEED("the checks are the static_asserts above"); }
