// SPDX-License-Identifier: BSL-1.0
//
// A file, and the items that process it, one after the other, each on its own queue.
#pragma once

#include "whereabouts.hpp"

#include <cmwq/workqueue.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <semaphore>
#include <string>
#include <utility>

namespace mixed {

/// A queue, and a record of the runs of its items.
template <class Policy>
struct station {
    template <class... Options>
    explicit station(Options&&... o) : queue(std::forward<Options>(o)...) {}

    whereabouts seen; // before the queue, whose destructor waits for the items that write to it
    cmwq::workqueue<Policy> queue;
};

/// The queues and totals that all files share.
struct desk {
    static constexpr unsigned readers = 32;
    static constexpr int files_in_memory = 64;

    std::FILE* journal_file = nullptr;
    unsigned long lines_in_journal = 0; // used only by items of the journal, so it needs no lock and is no atomic
    std::counting_semaphore<> memory{files_in_memory};
    std::atomic<std::uint64_t> bytes{0}, lines{0}, failures{0};

    /// Items block in read(2), and while too many files are in memory. The library then starts another item, so each
    /// blocked item needs a thread: hence the limit.
    station<cmwq::elastic> read;
    /// Items compute. Their nice value is higher, so that the other items get the CPUs first.
    station<cmwq::unbound> examine;
    /// Items write one line at a time, in order.
    station<cmwq::ordered> journal;
    /// Items make a few additions, which need no thread of their own.
    station<cmwq::bh> count;

    explicit desk(cmwq::runtime& rt, unsigned nr_cpus);
};

class file {
public:
    file(desk& d, std::string path) : desk_(d), path_(std::move(path)) {}

    void start() { desk_.read.queue.queue(read_work_); }

private:
    void read();
    void examine();
    void write_journal();
    void count();

    desk& desk_;
    std::string path_;
    std::string content_;
    int error_ = 0;
    std::uint64_t bytes_ = 0, lines_ = 0, words_ = 0, hash_ = 0;

    // Declared last, so that they are destroyed before the members that they use.
    cmwq::work_member<&file::read> read_work_{*this};
    cmwq::work_member<&file::examine> examine_work_{*this};
    cmwq::work_member<&file::write_journal> journal_work_{*this};
    cmwq::work_member<&file::count> count_work_{*this};
};

} // namespace mixed
