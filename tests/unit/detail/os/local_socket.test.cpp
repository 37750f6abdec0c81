// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/local_socket.hpp>

#include <cmwq/detail/os/local_socket.hpp> // a second time: tests the include guard

#include <cmwq/detail/os/clock.hpp>

#include "catch.hpp"
#include "child.hpp"
#include "temporary_folder.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>

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

TEST_CASE("local_socket: the user's folder is in the first parent that exists and is the user's own") {
    const cmwq_test::temporary_folder folder;
    const auto folder_with = [](const std::string& runtime_dir) {
        ::setenv("XDG_RUNTIME_DIR", runtime_dir.c_str(), 1); // NOLINT(concurrency-mt-unsafe): in a child
        std::string found;
        return folder_for_sockets(found) == 0 ? found : "";
    };
    folder.write("file", "");
    const cmwq_test::outcome o = cmwq_test::in_child([&] {
        cmwq_test::findings f;
        const std::string own = folder.path("own");
        std::filesystem::create_directories(own);
        f.expect(1, folder_with(own) == own + "/cmwq", "the user's own");
        const std::string next = folder_with("relative");
        f.expect(2, !next.empty(), "the next");
        f.expect(4, folder_with(folder.path("nothing")) == next, "one that does not exist");
        f.expect(8, folder_with(folder.path("file")) == next, "a file");
        // Only root can make a folder of another user; but everybody has one of root.
        const std::string foreign = ::geteuid() == 0 ? folder.path("foreign") : "/";
        if (::geteuid() == 0) std::filesystem::create_directories(foreign);
        if (::geteuid() == 0 && ::chown(foreign.c_str(), 65534, 65534) != 0) return 9;
        f.expect(16, folder_with(foreign) == next, "one of another user");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("local_socket: without descriptors, waiting rests") {
    const cmwq_test::outcome o = cmwq_test::in_child([] {
        const rlimit none{};
        if (::setrlimit(RLIMIT_NOFILE, &none) != 0) return 9;
        pollfd one{.fd = -1, .events = POLLIN, .revents = 0};
        const std::int64_t began = monotonic_now();
        wait_for_any({&one, 1}, 10'000'000);
        return monotonic_now() - began >= 10'000'000 ? 0 : 1;
    });
    CHECK(o.exited_with(0));
}
