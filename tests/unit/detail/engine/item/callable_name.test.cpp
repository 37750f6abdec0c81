// SPDX-License-Identifier: BSL-1.0
//
// callable_name: messages name what the program calls, and not the library around it.
#include "catch.hpp"

#include <cmwq/detail/engine/item/callable_name.hpp>

#include <string>

using cmwq::detail::callable_name;

#define NAMESPACE_TEXT_OF(x) #x
#define NAMESPACE_TEXT(x) NAMESPACE_TEXT_OF(x)

namespace {

const std::string library = "cmwq::" NAMESPACE_TEXT(CMWQ_NS) "::";

std::string of_item(const std::string& type) {
    return callable_name(library + type + "::call(" + library + "work_base&)");
}

} // namespace

TEST_CASE("callable_name: the callable of each kind of item") {
    CHECK(of_item("work<parse>") == "parse");
    CHECK(of_item("work<void (*)()>") == "void (*)()");
    CHECK(of_item("work<(anonymous namespace)::parse>") == "parse");
    CHECK(of_item("delayed_work<main::{lambda()#2}>") == "main::{lambda()#2}");
    CHECK(of_item("detail::posted<list<map<int, parse> > >") == "list<map<int, parse> >");
    CHECK(of_item("detail::group_task_of<f()::{lambda(int)#1}>") == "f()::{lambda(int)#1}");
    CHECK(of_item("work_member<&server::flush>") == "server::flush");
    CHECK(of_item("work_member<&(server::flush())>") == "server::flush");
    CHECK(of_item("work_member<(&server::flush)>") == "server::flush");
    CHECK(of_item("detail::posted<" + library + "make_async<load>(" + library + "workqueue_base&, load&&)::task>") ==
          "load");
}

TEST_CASE("callable_name: an arrow ends no brackets, and other names stay") {
    CHECK(of_item("work<f()::{lambda(auto:1)#1}::operator-><int>>") == "f()::{lambda(auto:1)#1}::operator-><int>");
    for (const std::string name : {"parse(int)", "program+0x1234", "0x12", "", "std::work<parse>::call()"})
        CHECK(callable_name(name) == name);
    CHECK(callable_name(library + "work<parse") == "parse"); // cut
    CHECK(callable_name(library + "work_member<") == "");
    CHECK(callable_name(library + "detail::run_task(" + library + "work_base&)") ==
          "cmwq::detail::run_task(cmwq::work_base&)");
}
