// SPDX-License-Identifier: BSL-1.0
//
// cpuset: a set of CPU numbers, as a value.
#pragma once

#include <cmwq/detail/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace cmwq::inline CMWQ_NS {

/// A set of operating system CPU numbers. Not thread safe, as any value. Iterates in ascending order.
///
///     auto some = cmwq::cpuset{0, 2} | cmwq::cpuset::range(4, 8);   // 0,2,4-7
class cpuset {
public:
    /// One more than the highest number that a set can hold: what Linux itself can be built for, and then some.
    static constexpr unsigned capacity = 1u << 16;

    cpuset() = default;
    /// Errors (also of the other members that add): std::invalid_argument for a number of 65536 or more.
    cpuset(std::initializer_list<unsigned> cpus) {
        for (const unsigned c : cpus) insert(c);
    }

    /// The CPUs first, first + 1, …, last - 1.
    [[nodiscard]] static cpuset range(unsigned first, unsigned last) {
        cpuset s;
        for (unsigned c = first; c < last; ++c) s.insert(c);
        return s;
    }

    cpuset& insert(unsigned cpu) {
        if (cpu >= capacity) throw std::invalid_argument("cmwq::cpuset: CPU number " + std::to_string(cpu));
        if (cpu / 64 >= words_.size()) words_.resize(cpu / 64 + 1);
        words_[cpu / 64] |= bit(cpu);
        return *this;
    }

    cpuset& erase(unsigned cpu) noexcept {
        if (cpu / 64 < words_.size()) words_[cpu / 64] &= ~bit(cpu);
        return *this;
    }

    [[nodiscard]] bool contains(unsigned cpu) const noexcept {
        return cpu / 64 < words_.size() && (words_[cpu / 64] & bit(cpu)) != 0;
    }

    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t n = 0;
        for (const std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
        return n;
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    /// The lowest number that is at least `from`, or `capacity` if there is none.
    [[nodiscard]] unsigned next(unsigned from) const noexcept {
        for (std::size_t i = from / 64; i < words_.size(); ++i) {
            std::uint64_t w = words_[i];
            if (i == from / 64) w &= ~std::uint64_t{0} << (from % 64);
            if (w != 0) return static_cast<unsigned>(i * 64) + static_cast<unsigned>(std::countr_zero(w));
        }
        return capacity;
    }

    friend cpuset operator&(const cpuset& a, const cpuset& b) {
        cpuset r;
        for (const unsigned c : a) {
            if (b.contains(c)) r.insert(c);
        }
        return r;
    }
    friend cpuset operator|(const cpuset& a, const cpuset& b) {
        cpuset r = a;
        for (const unsigned c : b) r.insert(c);
        return r;
    }
    friend cpuset operator-(const cpuset& a, const cpuset& b) {
        cpuset r = a;
        for (const unsigned c : b) r.erase(c);
        return r;
    }
    friend bool operator==(const cpuset& a, const cpuset& b) noexcept {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

    /// As the kernel writes sets: "0-3,8". The empty set is "".
    [[nodiscard]] std::string to_string() const {
        std::string text;
        for (unsigned first = next(0); first < capacity;) {
            unsigned last = first;
            while (contains(last + 1)) ++last;
            if (!text.empty()) text += ',';
            text += std::to_string(first);
            if (last > first) text += '-' + std::to_string(last);
            first = next(last + 1);
        }
        return text;
    }

    class iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = unsigned;
        using difference_type = std::ptrdiff_t;
        using pointer = const unsigned*;
        using reference = unsigned;

        iterator() = default;
        unsigned operator*() const noexcept { return cpu_; }
        iterator& operator++() noexcept {
            cpu_ = set_->next(cpu_ + 1);
            return *this;
        }
        iterator operator++(int) noexcept {
            iterator old = *this;
            ++*this;
            return old;
        }
        bool operator==(const iterator& o) const noexcept { return cpu_ == o.cpu_; }

    private:
        friend class cpuset;
        iterator(const cpuset* s, unsigned cpu) noexcept : set_(s), cpu_(cpu) {}
        const cpuset* set_ = nullptr;
        unsigned cpu_ = capacity;
    };
    using const_iterator = iterator;
    [[nodiscard]] iterator begin() const noexcept { return {this, next(0)}; }
    [[nodiscard]] iterator end() const noexcept { return {this, capacity}; }

private:
    static std::uint64_t bit(unsigned cpu) noexcept { return std::uint64_t{1} << (cpu % 64); }

    std::vector<std::uint64_t> words_;
};

} // namespace cmwq::inline CMWQ_NS
