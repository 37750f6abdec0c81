// SPDX-License-Identifier: BSL-1.0
#include <cmwq/detail/ds/inbox.hpp>

#include <cmwq/detail/ds/inbox.hpp> // a second time: tests the include guard

#include "catch.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace {

struct tag;
struct element : cmwq::detail::list_node<tag> {
    unsigned producer = 0;
    unsigned number = 0;
};
using inbox = cmwq::detail::inbox<element, tag>;

} // namespace

TEST_CASE("inbox: take_all() returns the elements as a list with the oldest first") {
    inbox box;
    CHECK(box.empty());
    CHECK(box.take_all() == nullptr);
    element e[3];
    CHECK(box.push(e[0])); // the inbox was empty: the caller has to wake the consumer
    CHECK_FALSE(box.push(e[1]));
    CHECK_FALSE(box.push(e[2]));
    CHECK_FALSE(box.empty());
    element* first = box.take_all();
    CHECK(box.empty());
    REQUIRE(first == &e[0]);
    REQUIRE(inbox::unlink_next(*first) == &e[1]);
    CHECK(first->next == nullptr);
    REQUIRE(inbox::unlink_next(e[1]) == &e[2]);
    CHECK(inbox::unlink_next(e[2]) == nullptr);
    CHECK(box.push(*first)); // a taken element can be pushed again
    CHECK(box.take_all() == first);
}

TEST_CASE("inbox: for_each() visits the newest element first, stops when it is told to, and takes nothing") {
    inbox box;
    element e[3];
    for (unsigned i = 0; i < 3; ++i) {
        e[i].number = i;
        box.push(e[i]);
    }
    std::vector<unsigned> seen;
    box.for_each([&](const element& one) {
        seen.push_back(one.number);
        return true;
    });
    CHECK(seen == std::vector<unsigned>{2, 1, 0});
    seen.clear();
    box.for_each([&](const element& one) {
        seen.push_back(one.number);
        return false;
    });
    CHECK(seen == std::vector<unsigned>{2});
    CHECK(box.take_all() == &e[0]);
}

TEST_CASE("inbox: one consumer gets each element of many producers once and in order for each producer") {
    constexpr unsigned nr_producers = 3, each = 40'000, ahead = 8;
    const auto elements = std::make_unique<element[]>(std::size_t{nr_producers} * each);
    inbox box;
    std::atomic<unsigned> ready{0}, ended{0}, found_empty{0};
    std::atomic<unsigned> received[nr_producers] = {};
    std::vector<std::thread> producers;
    for (unsigned p = 0; p < nr_producers; ++p) {
        producers.emplace_back([&, p] {
            ++ready;
            while (ready != nr_producers) std::this_thread::yield();
            for (unsigned i = 0; i < each; ++i) {
                // A producer is never far ahead; otherwise there would be only a few large batches on a busy machine.
                while (i - received[p].load(std::memory_order_relaxed) >= ahead) std::this_thread::yield();
                element& e = elements[std::size_t{p} * each + i];
                e.producer = p;
                e.number = i; // plain members: the push publishes them
                if (box.push(e)) ++found_empty;
            }
            ++ended;
        });
    }
    unsigned taken = 0, batches = 0, out_of_order = 0;
    unsigned next[nr_producers] = {};
    for (;;) {
        const bool last = ended == nr_producers;
        element* e = box.take_all();
        if (e == nullptr) {
            if (last) break;
            std::this_thread::yield();
            continue;
        }
        ++batches;
        while (e != nullptr) {
            element* behind = inbox::unlink_next(*e);
            if (e->number != next[e->producer]++) ++out_of_order;
            ++taken;
            received[e->producer].fetch_add(1, std::memory_order_relaxed);
            e = behind;
        }
    }
    for (std::thread& t : producers) t.join();
    CHECK(taken == nr_producers * each);
    CHECK(out_of_order == 0);
    for (const unsigned n : next) CHECK(n == each);
    CHECK(box.empty());
    CHECK(found_empty == batches); // exactly one push of each batch has found the inbox empty
}
