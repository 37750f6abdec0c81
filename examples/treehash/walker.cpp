// SPDX-License-Identifier: BSL-1.0
#include "walker.hpp"

#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

namespace treehash {

namespace {

struct close_directory {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};
using directory = std::unique_ptr<DIR, close_directory>;

std::string join(const std::string& dir, std::string_view name) {
    std::string path;
    path.reserve(dir.size() + 1 + name.size());
    path += dir;
    if (path.back() != '/') path += '/';
    path += name;
    return path;
}

// "tree/" names the same files as "tree". Use one spelling, so that manifests are comparable.
std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
}

class tree_walk {
public:
    explicit tree_walk(const walk_callbacks& to) : to_(to) {}

    void root(const std::string& given) {
        struct stat st{};
        if (::stat(given.c_str(), &st) != 0) {
            to_.failed({given, errno});
        } else if (S_ISREG(st.st_mode)) {
            to_.file(given);
        } else if (S_ISDIR(st.st_mode)) {
            // A stack instead of recursion needs one open descriptor, however deep the tree is.
            directories_.push_back(without_trailing_slashes(given));
            while (!directories_.empty()) {
                const std::string dir = std::move(directories_.back());
                directories_.pop_back();
                list(dir);
            }
        } else {
            // Such a file is skipped silently inside a tree, but the user has named this one.
            to_.failed({given, EINVAL});
        }
    }

private:
    void list(const std::string& path) {
        const directory dir{::opendir(path.c_str())};
        if (!dir) {
            to_.failed({path, errno});
            return;
        }
        for (;;) {
            errno = 0;
            const dirent* entry = ::readdir(dir.get());
            if (entry == nullptr) break;
            const std::string_view name = entry->d_name;
            if (name != "." && name != "..") found(*dir, *entry, path);
        }
        if (errno != 0) to_.failed({path, errno});
    }

    void found(DIR& dir, const dirent& entry, const std::string& parent) {
        unsigned char type = entry.d_type;
        if (type == DT_UNKNOWN) { // some file systems do not report the type
            struct stat st{};
            if (::fstatat(::dirfd(&dir), entry.d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
                to_.failed({join(parent, entry.d_name), errno});
                return;
            }
            type = IFTODT(st.st_mode);
        }
        if (type == DT_REG) {
            to_.file(join(parent, entry.d_name));
        } else if (type == DT_DIR) {
            directories_.push_back(join(parent, entry.d_name));
        }
    }

    const walk_callbacks& to_;
    std::vector<std::string> directories_;
};

} // namespace

void walk(const std::vector<std::string>& roots, const walk_callbacks& to) {
    tree_walk walker{to};
    for (const std::string& root : roots) walker.root(root);
}

} // namespace treehash
