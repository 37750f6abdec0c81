// SPDX-License-Identifier: BSL-1.0
//
// table: rows of text in columns.
#pragma once

#include <cmwq/detail/base/printable.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmwq_tool {

/// The width of a text in columns of a terminal, if each character of it takes one.
inline std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

inline void add_to_list(std::string& list, std::string_view one) {
    if (!list.empty()) list += ", ";
    list += one;
}

/// Names come from programs, and a terminal would obey their control characters.
using cmwq::detail::keep_lines;
using cmwq::detail::printable;

class table {
public:
    enum class align : bool { left, right };
    struct column {
        std::string title;
        align side;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) {
        for (std::string& cell : row) cell = printable(cell);
        rows_.push_back(std::move(row));
    }
    [[nodiscard]] bool empty() const { return rows_.empty(); }

    [[nodiscard]] std::string text() const {
        std::vector<std::size_t> width;
        std::vector<std::string> titles;
        for (const column& c : columns_) {
            titles.push_back(c.title);
            width.push_back(width_of(c.title));
        }
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], width_of(row[i]));
        }
        std::string all = line(titles, width);
        for (const auto& row : rows_) all += line(row, width);
        return all;
    }

private:
    [[nodiscard]] std::string line(const std::vector<std::string>& row, const std::vector<std::size_t>& width) const {
        std::string text;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string gap(width[i] - width_of(row[i]), ' ');
            if (i != 0) text += "  ";
            text += columns_[i].side == align::left ? row[i] + gap : gap + row[i];
        }
        text.erase(text.find_last_not_of(' ') + 1);
        return text + '\n';
    }

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

} // namespace cmwq_tool
