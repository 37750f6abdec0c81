// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/file.hpp>

#include <cmwq/detail/os/file.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <cerrno>
#include <string>

using cmwq::detail::os::read_file;

TEST_CASE("file: read_file() reads the whole text of a file of any size") {
    const cmwq_test::temporary_folder folder;
    std::string text = "what was there before";
    for (const std::size_t size : {0u, 1u, 4095u, 4096u, 4097u, 100'000u}) {
        std::string content;
        for (std::size_t i = 0; i < size; ++i) content += static_cast<char>(i * 7 + i / 4096);
        folder.write("file", content);
        REQUIRE(read_file(folder.path("file").c_str(), text) == 0);
        CHECK(text == content);
    }
    REQUIRE(read_file("/proc/self/stat", text) == 0); // the kernel gives 0 as the size of this file
    CHECK_FALSE(text.empty());
}

TEST_CASE("file: read_file() returns the error of a failed read") {
    const cmwq_test::temporary_folder folder;
    std::string text = "what was there before";
    CHECK(read_file(folder.path("nothing").c_str(), text) == ENOENT);
    CHECK(text.empty());
    CHECK(read_file(folder.path("").c_str(), text) == EISDIR);
}
