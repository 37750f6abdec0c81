// SPDX-License-Identifier: BSL-1.0
//
// A consistent snapshot of a store in memory. The runtime freezes the items that change the store during a fork(), and
// the child writes its inherited copy while the parent continues.
#include <cmwq/cmwq.hpp>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <numeric>
#include <string>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace {

/// 64 accounts, each with 1000 at first. Its member functions take a lock. A forked child can use its copy only because
/// no thread held the lock at the fork().
class store {
public:
    store() { accounts_.fill(1000); }

    void transfer(std::size_t from, std::size_t to, long amount) {
        const std::lock_guard g(lock_);
        accounts_[from % accounts_.size()] -= amount;
        accounts_[to % accounts_.size()] += amount; // the total would be wrong in a child forked before this line
        ++transfers_;
    }
    [[nodiscard]] long transfers() const {
        const std::lock_guard g(lock_);
        return transfers_;
    }
    [[nodiscard]] long total() const {
        const std::lock_guard g(lock_);
        return std::accumulate(accounts_.begin(), accounts_.end(), 0L);
    }
    bool write(const std::string& file) const {
        const std::lock_guard g(lock_);
        std::ofstream out(file + ".new");
        out << transfers_ << '\n';
        for (const long balance : accounts_) out << balance << '\n';
        out.close();
        return !out.fail() && std::rename((file + ".new").c_str(), file.c_str()) == 0;
    }

private:
    mutable std::mutex lock_;
    std::array<long, 64> accounts_{};
    long transfers_ = 0;
};

/// A child process with the store as it was when this object was constructed. The child writes it when finish() is
/// called.
class snapshot {
public:
    snapshot(cmwq::runtime& rt, const store& s, const std::string& file) {
        if (::pipe(ends_.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
        const cmwq::freeze_guard still{rt}; // until the end of this function, no item is in a transfer
        transfers_ = s.transfers();
        child_ = ::fork();
        if (child_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
        if (child_ > 0) return;
        // The child process. It has no workers, and needs none.
        char go = 0;
        ::close(ends_[1]);
        while (::read(ends_[0], &go, 1) < 0 && errno == EINTR) {}
        ::_exit(s.write(file) ? 0 : 1);
    }
    /// Lets the child write the store and waits for its end. True if the child has written the store.
    bool finish() {
        ::close(ends_[0]);
        ::close(ends_[1]);
        int status = 0;
        while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    [[nodiscard]] long transfers() const { return transfers_; } ///< number of transfers before the fork()

private:
    std::array<int, 2> ends_{};
    pid_t child_ = -1;
    long transfers_ = 0;
};

} // namespace

int main(int argc, char** argv) try {
    const std::string file = argc > 1 ? argv[1] : "snapshot.txt";
    store accounts;
    cmwq::workqueue<cmwq::elastic> queue{{.name = "transfers", .freezable = true}};
    const auto queue_thousand = [&] {
        for (std::size_t i = 0; i < 1000; ++i)
            queue.post([&accounts, i] { accounts.transfer(i, i * 7 + 1, static_cast<long>(i % 10)); });
    };

    queue_thousand();
    snapshot s(cmwq::runtime::global(), accounts, file); // some transfers have run, the others are pending
    queue_thousand();
    queue.flush(); // now all transfers have run; the child's copy does not change
    if (!s.finish()) return 1;

    std::ifstream in(file);
    long transfers = 0, nr = 0, total = 0;
    in >> transfers;
    for (long balance = 0; in >> balance; ++nr) total += balance;
    std::printf("snapshot: %ld accounts, %ld in total, %s\n", nr, total,
                transfers == s.transfers() ? "as it was at the fork" : "of another time");
    std::printf("store: %ld transfers, %ld in total\n", accounts.transfers(), accounts.total());
} catch (const std::exception& e) {
    std::fprintf(stderr, "snapshot: %s\n", e.what());
    return 1;
}
