// SPDX-License-Identifier: BSL-1.0
//
// trace_ring: the events of one thread, on their way to the thread that writes them.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/sync/thread.hpp>
#include <cmwq/detail/trace/trace_entry.hpp>

#include <boost/lockfree/spsc_queue.hpp>
#include <cstddef>
#include <memory>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// When its thread has ended, and the reader has read all, the ring can serve another thread.
///
/// Letters: O the owner, that is, the thread whose events these are · R the reader · A atomic · I set by the
/// constructor
class trace_ring {
public:
    /// Throws std::bad_alloc. `tid`: of its owner, the calling thread.
    trace_ring(std::size_t capacity, long tid) : capacity_(capacity), records_(capacity), tid_(tid) { note_name(); }
    trace_ring(const trace_ring&) = delete;
    trace_ring& operator=(const trace_ring&) = delete;

    // --- any thread --------------------------------------------------------------------------------------------------

    /// The owner; 0: it has none.
    [[nodiscard]] long tid() const noexcept { return tid_.load(relaxed); }
    /// The calling thread becomes the owner of a ring that has none.
    bool claim(long tid) noexcept {
        long none = 0;
        if (!tid_.compare_exchange_strong(none, tid, acquire, relaxed)) return false; // [TRACE-2]
        note_name();
        return true;
    }

    // --- the owner ---------------------------------------------------------------------------------------------------

    /// False: there is no room. The next record that finds some says how many were lost.
    bool push(trace_record& r) noexcept {
        r.nr_lost = nr_lost_;
        const bool done = records_.push(r);
        nr_lost_ = done ? 0 : nr_lost_ + 1;
        return done;
    }
    /// Whether the reader should come soon.
    [[nodiscard]] bool half_full() const noexcept { return records_.write_available() < capacity_ / 2; }

    // --- the reader --------------------------------------------------------------------------------------------------

    /// Calls `f(const trace_record&)` for each record that is there.
    template <class F>
    void read(const F& f) {
        records_.consume_all(f);
    }
    /// Of the owner, once there was a record of it.
    [[nodiscard]] std::string_view name() const noexcept { return name_; }
    /// The owner has ended, and all of its records are read.
    void release_owner() noexcept { tid_.store(0, release); } // [TRACE-2]

    trace_ring* next = nullptr;                  // written before the ring is on the list
    std::shared_ptr<const traced_thread> thread; // R: the owner, once there was a record of it

private:
    void note_name() noexcept { name_of_this_thread(name_); }

    const std::size_t capacity_;                        // I
    boost::lockfree::spsc_queue<trace_record> records_; // O pushes, R takes
    atomic<long> tid_;                                  // A
    unsigned nr_lost_ = 0;                              // O
    char name_[16] = {};                                // O until its first record, then R reads it
};

}}} // namespace cmwq::CMWQ_NS::detail
