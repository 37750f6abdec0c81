// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/os/file.hpp>

#include <cmwq/detail/os/file.hpp> // a second time: tests the include guard

#include "catch.hpp"
#include "child.hpp"
#include "temporary_folder.hpp"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

using cmwq::detail::os::absolute_path;
using cmwq::detail::os::output_file;
using cmwq::detail::os::print_last_words;
using cmwq::detail::os::read_file;
using cmwq::detail::os::replace_file;
using cmwq::detail::os::with_process_number;

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

TEST_CASE("file: replace_file() writes a whole file, and leaves no other behind") {
    const cmwq_test::temporary_folder folder;
    const std::string path = folder.path("file");
    std::string text;
    for (const std::size_t size : {5u, 0u, 1'000'000u}) {
        const std::string content(size, 'x');
        REQUIRE(replace_file(path, content) == 0);
        REQUIRE(read_file(path.c_str(), text) == 0);
        CHECK(text == content);
    }
    folder.write("file." + std::to_string(::getpid()) + ".tmp", "left by a process that was killed");
    REQUIRE(replace_file(path, "new") == 0);
    REQUIRE(read_file(path.c_str(), text) == 0);
    CHECK(text == "new");
    for (const auto& f : std::filesystem::directory_iterator(folder.path(""))) CHECK(f.path() == path);
}

TEST_CASE("file: replace_file() returns the error, and leaves everything as it was") {
    const cmwq_test::temporary_folder folder;
    CHECK(replace_file(folder.path("nothing/file"), "text") == ENOENT);
    folder.write("full/file", "");
    CHECK(replace_file(folder.path("full"), "text") == EISDIR); // the name of a folder
    std::size_t n = 0;
    for (const auto& f : std::filesystem::directory_iterator(folder.path("")))
        n += f.path() == folder.path("full") ? 1 : 2;
    CHECK(n == 1);
}

TEST_CASE("file: replace_file() lets threads write one file at the same time, and others remove it meanwhile") {
    const cmwq_test::temporary_folder folder;
    const std::string path = folder.path("file");
    constexpr int nr_threads = 4, nr_writes = 500;
    std::atomic<int> nr_failed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < nr_threads; ++i) {
        threads.emplace_back([&, removes = i % 2 == 1] {
            for (int n = 0; n < nr_writes; ++n) {
                nr_failed += replace_file(path, "whole") == 0 ? 0 : 1;
                if (removes) ::unlink(path.c_str());
            }
        });
    }
    for (std::thread& t : threads) t.join();
    CHECK(nr_failed == 0);
    CHECK(replace_file(path, "whole") == 0);
    std::string text;
    REQUIRE(read_file(path.c_str(), text) == 0);
    CHECK(text == "whole");
    for (const auto& f : std::filesystem::directory_iterator(folder.path(""))) CHECK(f.path() == path);
}

TEST_CASE("file: replace_file() replaces the file behind a link, and only a regular file") {
    namespace fs = std::filesystem;
    const cmwq_test::temporary_folder folder;
    folder.write("file", "former");
    fs::create_symlink("file", folder.path("link"));
    CHECK(replace_file(folder.path("link"), "new") == 0);
    CHECK(fs::is_symlink(folder.path("link")));
    std::string text;
    REQUIRE(read_file(folder.path("file").c_str(), text) == 0);
    CHECK(text == "new");

    fs::create_symlink("nothing", folder.path("broken"));
    CHECK(replace_file(folder.path("broken"), "new") == ENOENT);
    CHECK(fs::is_symlink(folder.path("broken")));

    const std::string fifo = folder.path("fifo");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    fs::create_symlink("fifo", folder.path("to_fifo"));
    CHECK(replace_file(fifo, "new") == ENOTSUP);
    CHECK(replace_file(folder.path("to_fifo"), "new") == ENOTSUP);
    CHECK(fs::is_fifo(fifo));
}

TEST_CASE("file: absolute_path() begins in the working folder") {
    CHECK(absolute_path("/a/b") == "/a/b");
    CHECK(absolute_path("b") == (std::filesystem::current_path() / "b").string());
}

TEST_CASE("file: with_process_number() puts it in place of each %p") {
    const std::string number = std::to_string(::getpid());
    CHECK(with_process_number("a.%p.b%p") == "a." + number + ".b" + number);
    CHECK(with_process_number("%p") == number);
    CHECK(with_process_number("100%") == "100%");
}

TEST_CASE("file: one output_file at a time writes a file, and a former one becomes empty") {
    const cmwq_test::temporary_folder folder;
    const std::string path = folder.path("file");
    folder.write("file", "former text");
    std::string text;
    {
        output_file one, two;
        REQUIRE(one.open(path) == 0);
        REQUIRE(one.write("new") == 0);
        CHECK(two.open(path) == EBUSY);
        REQUIRE(read_file(path.c_str(), text) == 0);
        CHECK(text == "new");
        CHECK(one.close() == 0);
        CHECK(one.close() == 0);
    }
    output_file three, four;
    CHECK(three.open(path) == 0);
    REQUIRE(read_file(path.c_str(), text) == 0);
    CHECK(text.empty());
    CHECK(four.open(folder.path("nothing/file")) == ENOENT);
    output_file nowhere, nowhere_too;
    CHECK(nowhere.open("/dev/null") == 0);
    CHECK(nowhere_too.open("/dev/null") == 0);
}

TEST_CASE("file: an output_file waits neither for a reader of a pipe, nor for one that has stopped") {
    const cmwq_test::temporary_folder folder;
    const std::string path = folder.path("pipe");
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    const cmwq_test::outcome o = cmwq_test::in_child([&] {
        cmwq_test::findings f;
        output_file unread, read;
        f.expect(1, unread.open(path) == ENXIO, "a pipe without a reader");
        const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
        f.expect(2, read.open(path) == 0, "a pipe with a reader");
        f.expect(4, read.write("text") == 0, "a pipe with room");
        f.expect(8, read.write(std::string(1'000'000, 'x'), 1) == ETIMEDOUT, "a pipe without room");
        char part[4];
        f.expect(16, ::read(reader, part, sizeof part) == sizeof part, "what has been written");
        return f.wrong();
    });
    INFO(o.stderr_text);
    CHECK(o.exited_with(0));
}

TEST_CASE("file: print_last_words() prints the whole text, and gives up if nobody takes it") {
    const std::string text(200'000, 'x');
    const cmwq_test::outcome o = cmwq_test::in_child([&] {
        print_last_words(text);
        return 0;
    });
    CHECK(o.exited_with(0));
    CHECK(o.stderr_text == text);
    const cmwq_test::outcome unread = cmwq_test::in_child([&] {
        int full[2];
        if (::pipe(full) != 0) return 1;
        ::dup2(full[1], 2);
        print_last_words(text);
        return 0;
    });
    CHECK(unread.exited_with(0));
}
