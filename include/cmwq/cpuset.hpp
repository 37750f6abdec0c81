// SPDX-License-Identifier: BSL-1.0
//
// cpuset: a set of CPU numbers, as a value.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS {

/// A set of CPU numbers, as the operating system gives them. Iteration is in ascending order. Thread safety: as any
/// value: while one thread changes it, no other thread may use it.
///
///     auto some = cmwq::cpuset{0, 2} | cmwq::cpuset::range(4, 8);   // 0,2,4-7
class cpuset {
public:
    /// One more than the highest number that a set can hold. Linux has fewer CPUs in any configuration.
    static constexpr unsigned capacity = 1u << 16;

    /// Makes the empty set.
    cpuset() = default;
    /// Makes the set of the given numbers. Errors: std::invalid_argument for a number of `capacity` or more,
    /// std::bad_alloc.
    cpuset(std::initializer_list<unsigned> cpus) {
        for (const unsigned c : cpus) insert(c);
    }

    /// Returns the set first, first + 1, …, last - 1. Errors: as the constructor.
    [[nodiscard]] static cpuset range(unsigned first, unsigned last) {
        cpuset s;
        for (unsigned c = first; c < last; ++c) s.insert(c);
        return s;
    }

    /// Reads a text in the format of `to_string()`: "0-3,8". Blanks and newlines may follow. An empty text is the empty
    /// set. Errors: std::invalid_argument for any other text, with the text in the message; std::bad_alloc.
    [[nodiscard]] static cpuset parse(std::string_view text) {
        const auto last = text.find_last_not_of(" \t\r\n");
        const std::string_view list = text.substr(0, last == std::string_view::npos ? 0 : last + 1);
        cpuset s;
        std::size_t at = 0;
        const auto number = [&] {
            const std::size_t begin = at;
            unsigned value = 0;
            for (; at < list.size() && list[at] >= '0' && list[at] <= '9' && value < capacity; ++at) {
                value = value * 10 + static_cast<unsigned>(list[at] - '0');
            }
            if (at == begin || value >= capacity) refuse(text);
            return value;
        };
        while (at < list.size()) {
            const unsigned first = number();
            unsigned end = first + 1;
            if (at < list.size() && list[at] == '-') {
                ++at;
                end = number() + 1;
            }
            if (end <= first || (at < list.size() && (list[at] != ',' || at + 1 == list.size()))) refuse(text);
            ++at;
            for (unsigned c = first; c < end; ++c) s.insert(c);
        }
        return s;
    }

    /// Adds a number; does nothing if the set has it. Errors: as the constructor; nothing changed then.
    cpuset& insert(unsigned cpu) {
        if (cpu >= capacity) throw std::invalid_argument("cmwq::cpuset: CPU number " + std::to_string(cpu));
        if (cpu / 64 >= words_.size()) words_.resize(cpu / 64 + 1);
        words_[cpu / 64] |= bit(cpu);
        return *this;
    }

    /// Removes a number; does nothing if the set does not have it.
    cpuset& erase(unsigned cpu) noexcept {
        if (cpu / 64 < words_.size()) words_[cpu / 64] &= ~bit(cpu);
        return *this;
    }

    /// Whether the set has the number.
    [[nodiscard]] bool contains(unsigned cpu) const noexcept {
        return cpu / 64 < words_.size() && (words_[cpu / 64] & bit(cpu)) != 0;
    }

    /// Returns the number of CPUs in the set.
    [[nodiscard]] std::size_t size() const noexcept {
        std::size_t n = 0;
        for (const std::uint64_t w : words_) n += static_cast<std::size_t>(std::popcount(w));
        return n;
    }
    /// Whether the set is empty.
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }

    /// Returns the lowest number of the set that is at least `from`, or `capacity` if there is none.
    [[nodiscard]] unsigned next(unsigned from) const noexcept {
        for (std::size_t i = from / 64; i < words_.size(); ++i) {
            std::uint64_t w = words_[i];
            if (i == from / 64) w &= ~std::uint64_t{0} << (from % 64);
            if (w != 0) return static_cast<unsigned>(i * 64) + static_cast<unsigned>(std::countr_zero(w));
        }
        return capacity;
    }

    /// Returns the numbers that both sets have. Errors: std::bad_alloc.
    friend cpuset operator&(const cpuset& a, const cpuset& b) {
        cpuset r;
        for (const unsigned c : a) {
            if (b.contains(c)) r.insert(c);
        }
        return r;
    }
    /// Returns the numbers that at least one of the sets has. Errors: std::bad_alloc.
    friend cpuset operator|(const cpuset& a, const cpuset& b) {
        cpuset r = a;
        for (const unsigned c : b) r.insert(c);
        return r;
    }
    /// Returns the numbers that `a` has and `b` does not have. Errors: std::bad_alloc.
    friend cpuset operator-(const cpuset& a, const cpuset& b) {
        cpuset r = a;
        for (const unsigned c : b) r.erase(c);
        return r;
    }
    /// Whether both sets have the same numbers.
    friend bool operator==(const cpuset& a, const cpuset& b) noexcept {
        return std::equal(a.begin(), a.end(), b.begin(), b.end());
    }

    /// Returns the set in the kernel's format for lists of CPUs: "0-3,8". The empty set is "". Errors: std::bad_alloc.
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

    /// Returns the set in the kernel's format for masks: groups of eight hexadecimal digits for 32 CPUs, the highest
    /// first, with commas between them: "00000001,80000000". The empty set is "00000000". Errors: std::bad_alloc.
    [[nodiscard]] std::string to_mask_string() const {
        unsigned highest = 0;
        for (const unsigned c : *this) highest = c;
        std::string text;
        for (unsigned group = highest / 32 + 1; group-- > 0;) {
            if (!text.empty()) text += ',';
            for (unsigned digit = 8; digit-- > 0;) {
                unsigned value = 0;
                for (unsigned b = 0; b < 4; ++b) value |= contains(group * 32 + digit * 4 + b) ? 1u << b : 0u;
                text += "0123456789abcdef"[value];
            }
        }
        return text;
    }

    /// Iterates over the numbers of a set in ascending order. It refers to the set, which must outlive it, and is valid
    /// as long as the set does not change.
    class iterator {
    public:
        using iterator_category = std::forward_iterator_tag; ///< several passes
        using value_type = unsigned;                         ///< a CPU number
        using difference_type = std::ptrdiff_t;              ///< for the standard library
        using pointer = const unsigned*;                     ///< for the standard library
        using reference = unsigned;                          ///< a number by value: there is no object to refer to

        /// Makes an iterator of no set.
        iterator() = default;
        /// Returns the number. Needs a position before the end.
        unsigned operator*() const noexcept { return cpu_; }
        /// Goes to the next number. Needs a position before the end.
        iterator& operator++() noexcept {
            cpu_ = set_->next(cpu_ + 1);
            return *this;
        }
        /// Goes to the next number and returns the position before. Needs a position before the end.
        iterator operator++(int) noexcept {
            iterator old = *this;
            ++*this;
            return old;
        }
        /// Whether both are at the same number, or both at the end.
        bool operator==(const iterator& o) const noexcept { return cpu_ == o.cpu_; }

    private:
        friend class cpuset;
        iterator(const cpuset* s, unsigned cpu) noexcept : set_(s), cpu_(cpu) {}
        const cpuset* set_ = nullptr;
        unsigned cpu_ = capacity;
    };
    using const_iterator = iterator; ///< no iterator changes the set
    /// Returns the position of the lowest number.
    [[nodiscard]] iterator begin() const noexcept { return {this, next(0)}; }
    /// Returns the position after the highest number.
    [[nodiscard]] iterator end() const noexcept { return {this, capacity}; }

private:
    [[noreturn]] static void refuse(std::string_view text) {
        throw std::invalid_argument("cmwq::cpuset: '" + std::string(text) + "' is no list of CPUs");
    }

    static std::uint64_t bit(unsigned cpu) noexcept { return std::uint64_t{1} << (cpu % 64); }

    std::vector<std::uint64_t> words_;
};

}} // namespace cmwq::CMWQ_NS
