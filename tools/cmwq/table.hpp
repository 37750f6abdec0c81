// SPDX-License-Identifier: BSL-1.0
//
// table: rows of text in columns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace cmwq_tool {

/// The width of a text in columns of a terminal, if each character of it takes one.
inline std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

class table {
public:
    enum class align : bool { left, right };
    struct column {
        std::string title;
        align side;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
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
