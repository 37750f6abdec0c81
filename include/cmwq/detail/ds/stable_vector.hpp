// SPDX-License-Identifier: BSL-1.0
//
// stable_vector: a vector that grows at its end, never moves or removes an element, and is read without a lock.
#pragma once

#include <cmwq/detail/base/atomic.hpp>

#include <bit>
#include <cstddef>
#include <memory>
#include <new>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// Owns its elements. Any thread may read elements below `size()`; one thread at a time may append.
template <class T>
class stable_vector {
public:
    stable_vector() noexcept = default;
    stable_vector(const stable_vector&) = delete;
    stable_vector& operator=(const stable_vector&) = delete;
    ~stable_vector() {
        for (std::size_t i = 0; i < size(); ++i) delete &(*this)[i];
        for (atomic<T**>& s : segments_) delete[] s.load(relaxed);
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_.load(acquire); } // [VEC-1]
    /// `i` must be less than a `size()` that this thread has read.
    [[nodiscard]] T& operator[](std::size_t i) const noexcept {
        const position p = find(i);
        return *segments_[p.segment].load(acquire)[p.offset]; // [VEC-1]
    }

    /// Throws std::bad_alloc, and changes nothing then.
    T& append(std::unique_ptr<T> t) {
        const std::size_t n = size_.load(relaxed);
        const position p = find(n);
        if (p.segment >= nr_segments) throw std::bad_alloc();
        T** segment = segments_[p.segment].load(relaxed);
        if (segment == nullptr) {
            segment = new T*[first << p.segment];
            segments_[p.segment].store(segment, release); // [VEC-1]
        }
        T* const raw = t.release();
        segment[p.offset] = raw;
        size_.store(n + 1, release); // [VEC-1] release, pairs the acquire in size(): the element and its segment
        return *raw;
    }

private:
    static constexpr std::size_t first = 8; // elements of the first segment; each one is twice as long as the last
    static constexpr std::size_t nr_segments = 28;

    struct position {
        std::size_t segment, offset;
    };
    static position find(std::size_t i) noexcept {
        const auto segment = static_cast<std::size_t>(std::bit_width(i / first + 1)) - 1;
        return {segment, i - first * ((std::size_t{1} << segment) - 1)};
    }

    atomic<T**> segments_[nr_segments]{};
    atomic<std::size_t> size_{0};
};

}}} // namespace cmwq::CMWQ_NS::detail
