// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace bench {

/// Prints `"name": [1, 2]`.
inline void print_json_values(std::FILE* to, const char* name, const std::vector<double>& values) {
    std::fprintf(to, "\"%s\": [", name);
    for (std::size_t i = 0; i < values.size(); ++i) std::fprintf(to, "%s%.6g", i == 0 ? "" : ", ", values[i]);
    std::fputs("]", to);
}

/// A JSON object, printed as one line. Texts must contain nothing that JSON escapes. Throws std::domain_error for a
/// number that JSON cannot have.
class json_line {
public:
    template <class Number>
        requires std::is_arithmetic_v<Number>
    json_line& add(std::string_view name, Number value) {
        if (!std::isfinite(static_cast<double>(value))) throw std::domain_error(std::string(name) + " is not finite");
        char digits[32];
        std::snprintf(digits, sizeof digits, "%.6g", static_cast<double>(value));
        return member(name, digits);
    }
    json_line& add(std::string_view name, std::string_view value) {
        return member(name, '"' + std::string(value) + '"');
    }
    json_line& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
    json_line& add(std::string_view name, const std::vector<double>& values) {
        std::string list;
        for (const double v : values) {
            char digits[32];
            std::snprintf(digits, sizeof digits, "%s%.6g", list.empty() ? "" : ", ", v);
            list += digits;
        }
        return member(name, '[' + list + ']');
    }
    /// Prints the line, so that a reader sees it at once.
    void print(std::FILE* to = stdout) const {
        std::fprintf(to, "{%s}\n", members_.c_str());
        std::fflush(to);
    }

private:
    json_line& member(std::string_view name, const std::string& value) {
        if (!members_.empty()) members_ += ", ";
        members_ += '"' + std::string(name) + "\": " + value;
        return *this;
    }

    std::string members_;
};

/// Closes the file. Returns whether all of it was written.
[[nodiscard]] inline bool close_written(std::FILE* file) {
    const bool written = std::ferror(file) == 0;
    return std::fclose(file) == 0 && written;
}

} // namespace bench
