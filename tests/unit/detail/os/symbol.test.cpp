// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/symbol.hpp>

#include <cmwq/detail/os/symbol.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <regex>
#include <string>

using cmwq::detail::os::demangle;
using cmwq::detail::os::describe_function;

namespace {

void local(int&) {}

} // namespace

TEST_CASE("symbol: an exported function of a shared library is described by its name") {
    CHECK(describe_function(&std::quick_exit) == "quick_exit"); // no sanitizer replaces this function
    CHECK(demangle("_ZN4cmwq9workqueueEv") == "cmwq::workqueue()");
    CHECK(demangle("not mangled") == "not mangled");
}

TEST_CASE("symbol: another function is described by its file and the address in the file") {
    const std::string text = describe_function(&local);
    INFO(text);
    // This also holds in a program that exports its symbols: a function of an anonymous namespace is not exported.
    CHECK(std::regex_match(text, std::regex("cmwq_unit\\+0x[0-9a-f]+")));
    // Two addresses have the same distance in the file as in memory.
    const std::string other = describe_function(reinterpret_cast<const char*>(&local) + 5);
    const auto offset = [](const std::string& s) { return std::stoull(s.substr(s.find('+') + 1), nullptr, 16); };
    CHECK(offset(other) == offset(text) + 5);
}

TEST_CASE("symbol: an address inside of a function is not described by the name of the function") {
    const std::string text = describe_function(reinterpret_cast<const char*>(&std::quick_exit) + 3);
    INFO(text);
    CHECK(std::regex_match(text, std::regex("libc\\.so\\.6\\+0x[0-9a-f]+")));
}

TEST_CASE("symbol: an address outside of code is described by its number") {
    CHECK(describe_function(static_cast<const void*>(nullptr)) == "0x0");
    CHECK(describe_function(reinterpret_cast<const void*>(std::uintptr_t{0x10})) == "0x10");
}
