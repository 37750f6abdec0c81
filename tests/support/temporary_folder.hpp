// SPDX-License-Identifier: BSL-1.0
//
// A folder that exists as long as the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace cmwq_test {

class temporary_folder {
public:
    temporary_folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "cmwq_test_XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
        root_ = pattern;
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(root_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }

    /// Creates the file, or replaces it, and creates the folders that it needs.
    void write(const std::string& name, const std::string& text) const {
        std::filesystem::create_directories((root_ / name).parent_path());
        std::ofstream file(root_ / name, std::ios::binary);
        if (!(file << text).flush()) throw std::runtime_error("cannot write " + name);
    }

private:
    std::filesystem::path root_;
};

} // namespace cmwq_test
