// SPDX-License-Identifier: BSL-1.0
//
// table: rows of text in columns.
#pragma once

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

enum class keep_lines : bool { no, yes };

/// Control characters as in C: names come from programs, and a terminal would obey them.
inline std::string visible(std::string_view text, keep_lines lines = keep_lines::no) {
    std::string all;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto c = static_cast<unsigned char>(text[i]);
        const bool is_c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (is_c1) c = static_cast<unsigned char>(text[++i]); // U+0080 to U+009F, in two bytes
        if (c == '\n' && lines == keep_lines::yes) all += '\n';
        else if (c == '\n') all += "\\n";
        else if (c < 0x20 || c == 0x7f || is_c1) {
            char code[8];
            std::snprintf(code, sizeof code, "\\x%02x", c);
            all += code;
        } else all += static_cast<char>(c);
    }
    return all;
}

class table {
public:
    enum class align : bool { left, right };
    struct column {
        std::string title;
        align side;
    };

    explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}
    void add(std::vector<std::string> row) {
        for (std::string& cell : row) cell = visible(cell);
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
