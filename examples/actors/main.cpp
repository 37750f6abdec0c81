// SPDX-License-Identifier: BSL-1.0
//
// A bank in which each account is an actor: it has a queue of its own that runs its messages one at a time, so its
// balance needs no lock. Messages may block: one asks all accounts for their balances and waits for the answers.
//
//     actors [ACCOUNTS [TRANSFERS]]
#include <cmwq/async.hpp>
#include <cmwq/workqueue.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <future>
#include <latch>
#include <random>
#include <string_view>

namespace {

/// One message of a queue at a time, in order. As many queues run at once as there are CPUs, and another one for each
/// that blocks. (With cmwq::ordered, a thread would run for each queue that has a message.)
struct strand : cmwq::ordered {
    static constexpr std::string_view name = "strand";
    static constexpr bool concurrency_managed = true;
};

struct account {
    long balance = 1000;                        // only its messages access it
    cmwq::workqueue<strand> mailbox{"account"}; // last: it is destroyed first, after the last message
};

using bank = std::deque<account>;

/// Moves an amount, if the account has that much. Each step is a message to one account.
void transfer(account& from, account& to, long amount, std::latch& done) {
    from.mailbox.post([&from, &to, amount, &done] {
        if (from.balance < amount) return done.count_down();
        from.balance -= amount;
        to.mailbox.post([&to, amount, &done] {
            to.balance += amount;
            done.count_down();
        });
    });
}

/// Asks all accounts for their balances, and waits for the answers.
long audit(bank& accounts) {
    std::deque<std::future<long>> answers;
    for (account& a : accounts) answers.push_back(a.mailbox.async([&a] { return a.balance; }));
    long total = 0;
    for (std::future<long>& answer : answers) total += answer.get();
    return total;
}

} // namespace

int main(int argc, char** argv) {
    const std::size_t nr_accounts = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
    const long nr_transfers = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 200'000;
    if (nr_accounts < 1 || nr_transfers < 1) {
        std::fprintf(stderr, "usage: actors [ACCOUNTS [TRANSFERS]]\n");
        return 2;
    }
    std::latch done{nr_transfers};
    bank accounts(nr_accounts);
    cmwq::workqueue<strand> auditor{"auditor"};
    std::mt19937 random{1};
    const auto any = [&]() -> account& { return accounts[random() % nr_accounts]; };
    for (long i = 0; i < nr_transfers; ++i) transfer(any(), any(), static_cast<long>(random() % 500), done);
    done.wait();
    const long total = auditor.async([&] { return audit(accounts); }).get(); // an actor that blocks
    std::printf("%zu accounts, %ld transfers, %ld in total\n", nr_accounts, nr_transfers, total);
    const long expected = static_cast<long>(nr_accounts) * 1000;
    if (total != expected) {
        std::fprintf(stderr, "actors: the sum is wrong\n");
        return 1;
    }
}
