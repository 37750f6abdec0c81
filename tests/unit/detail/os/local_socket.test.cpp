// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/local_socket.hpp>

#include <cmwq/detail/os/local_socket.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <string_view>

using namespace cmwq::detail::os;

TEST_CASE("local_socket: what one end sends, the other receives, until it closes") {
    const cmwq_test::temporary_folder folder;
    const std::string path = folder.path("s");
    descriptor listener, near, far;
    REQUIRE(listen_at(path, listener) == 0);
    CHECK(accept_from(listener, far) == EAGAIN);
    REQUIRE(connect_to(path, near) == 0);
    REQUIRE(accept_from(listener, far) == 0);
    CHECK(peer_is_trusted(far));
    std::string got;
    CHECK(receive(far, got) == EAGAIN);
    std::string_view text = "hello";
    CHECK(send_some(near, text) == 0);
    CHECK(text.empty());
    CHECK(receive(far, got) == 0);
    CHECK(got == "hello");
    near.reset();
    CHECK(receive(far, got) == EPIPE);
    text = "too late";
    CHECK(send_some(far, text) == EPIPE);
}

TEST_CASE("local_socket: a socket that nobody serves is replaced or removed, one that is served stays") {
    const cmwq_test::temporary_folder folder;
    const std::string path = folder.path("12.0");
    descriptor first, second;
    REQUIRE(listen_at(path, first) == 0);
    CHECK_FALSE(is_abandoned(path));
    CHECK(listen_at(path, second) == EADDRINUSE);
    remove_abandoned(folder.path(""));
    CHECK(std::filesystem::exists(path));
    first.reset();
    CHECK(is_abandoned(path));
    CHECK(listen_at(path, second) == 0);
    CHECK_FALSE(is_abandoned(path));
    second.reset();
    folder.write("1.2", "a file");
    folder.write("12", "a file");
    for (const char* const other : {"s", "12.0x", "x.0", "12.", ".0"}) {
        descriptor left;
        REQUIRE(listen_at(folder.path(other), left) == 0);
    }
    remove_abandoned(folder.path(""));
    CHECK_FALSE(std::filesystem::exists(path));
    CHECK(std::distance(std::filesystem::directory_iterator(folder.path("")), {}) == 7);
    remove_abandoned(folder.path("nothing"));
}

TEST_CASE("local_socket: a path that is too long, or in no folder, is refused") {
    const cmwq_test::temporary_folder folder;
    descriptor d;
    CHECK(listen_at(folder.path(std::string(200, 'x')), d) == ENAMETOOLONG);
    CHECK(listen_at(folder.path("nothing/s"), d) == ENOENT);
    CHECK(connect_to(folder.path("nothing"), d) == ENOENT);
}
