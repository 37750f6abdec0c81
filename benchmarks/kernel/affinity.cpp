// SPDX-License-Identifier: BSL-1.0
//
// Affinity scopes, as the kernel measured them with an encrypting block device: issuers keep requests of 32 KiB
// outstanding; an item of an unbound queue processes the block, and the issuer verifies it. Both compute its SHA-512.
#include "support/cli.hpp"
#include "support/cpus.hpp"
#include "support/json.hpp"
#include "support/scopes.hpp"
#include "support/usage.hpp"

#include <cmwq/cmwq.hpp>
#include <openssl/sha.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>

namespace {

constexpr std::size_t block_size = 32 * 1024;
using digest = std::array<unsigned char, SHA512_DIGEST_LENGTH>;

struct settings {
    std::string policy = "unbound", scope = "cache";
    bool strict = false;
    unsigned issuers = 2, outstanding = 64, shard_size = cmwq::topology::default_cache_shard_size;
    double seconds = 5;
    std::uint64_t requests = 0;
};

digest hash(const std::vector<unsigned char>& block) {
    digest d;
    ::SHA512(block.data(), block.size(), d.data());
    return d;
}

/// Keeps requests outstanding: fills a block, queues it, verifies those that come back.
template <class Policy>
class issuer {
public:
    issuer(cmwq::workqueue<Policy>& q, const cmwq::topology& machine, cmwq::affinity_scope scope, unsigned outstanding)
        : queue_(q), machine_(machine), scope_(scope) {
        for (unsigned i = 0; i < outstanding; ++i) requests_.emplace_back(*this);
    }

    /// Runs until `stop` is set, or until it has verified so many requests; 0: no limit.
    void run(const std::atomic<bool>& stop, std::uint64_t limit) {
        for (request& r : requests_) r.submit();
        std::size_t outstanding = requests_.size();
        while (outstanding > 0) {
            request& r = next_answer();
            r.verify();
            ++verified_;
            in_pod_ += r.ran_in_pod() ? 1 : 0;
            on_cpu_ += r.ran_on_cpu_of_issuer() ? 1 : 0;
            if (stop || (limit != 0 && verified_ + outstanding > limit)) --outstanding;
            else r.submit();
        }
    }
    [[nodiscard]] std::uint64_t verified() const noexcept { return verified_; }
    [[nodiscard]] std::uint64_t in_pod() const noexcept { return in_pod_; }
    [[nodiscard]] std::uint64_t on_cpu() const noexcept { return on_cpu_; }

private:
    class request {
    public:
        explicit request(issuer& owner) : owner_(owner), block_(block_size) {}
        void submit() {
            std::memset(block_.data(), static_cast<int>(++round_ & 0xff), block_.size());
            from_ = ::sched_getcpu();
            owner_.queue_.queue(work_);
        }
        void verify() const {
            if (hash(block_) == digest_) return;
            std::fprintf(stderr, "affinity: a block has changed\n");
            std::_Exit(1);
        }
        [[nodiscard]] bool ran_in_pod() const {
            const auto pod_of = [this](int cpu) {
                return owner_.machine_.pod_of(owner_.scope_, static_cast<unsigned>(cpu));
            };
            return pod_of(from_) == pod_of(ran_on_);
        }
        [[nodiscard]] bool ran_on_cpu_of_issuer() const noexcept { return from_ == ran_on_; }

    private:
        void process() {
            ran_on_ = ::sched_getcpu();
            digest_ = hash(block_);
            owner_.answer(*this);
        }

        issuer& owner_;
        std::vector<unsigned char> block_;
        digest digest_{};
        int from_ = 0, ran_on_ = 0;
        unsigned round_ = 0;
        cmwq::work_member<&request::process> work_{*this};
    };

    void answer(request& r) {
        {
            const std::lock_guard g(lock_);
            answers_.push_back(&r);
        }
        more_.notify_one();
    }
    request& next_answer() {
        std::unique_lock g(lock_);
        more_.wait(g, [this] { return !answers_.empty(); });
        request& r = *answers_.front();
        answers_.pop_front();
        return r;
    }

    cmwq::workqueue<Policy>& queue_;
    const cmwq::topology& machine_;
    const cmwq::affinity_scope scope_;
    std::deque<request> requests_;
    std::mutex lock_;
    std::condition_variable more_;
    std::deque<request*> answers_;
    std::uint64_t verified_ = 0, in_pod_ = 0, on_cpu_ = 0;
};

template <class Policy>
void measure(const settings& s, cmwq::affinity_scope scope) {
    const auto machine = cmwq::topology::system().with_cache_shard_size(s.shard_size);
    cmwq::runtime rt{{.cache_shard_size = s.shard_size}};
    cmwq::workqueue<Policy> queue{rt, {.name = "crypt", .attrs = cmwq::attrs{}.affinity(scope).strict(s.strict)}};
    std::deque<issuer<Policy>> issuers;
    for (unsigned i = 0; i < s.issuers; ++i) issuers.emplace_back(queue, machine, scope, s.outstanding);

    std::atomic<bool> stop{false};
    const auto before = bench::usage::now();
    std::vector<std::thread> threads;
    for (auto& i : issuers) threads.emplace_back([&] { i.run(stop, s.requests); });
    if (s.requests == 0) {
        std::this_thread::sleep_for(std::chrono::duration<double>(s.seconds));
        stop = true;
    }
    for (std::thread& t : threads) t.join();
    const auto after = bench::usage::now();

    std::uint64_t verified = 0, in_pod = 0, on_cpu = 0;
    for (const auto& i : issuers) {
        verified += i.verified();
        in_pod += i.in_pod();
        on_cpu += i.on_cpu();
    }
    const auto requests = static_cast<double>(verified);
    bench::json_line line;
    line.add("policy", s.policy).add("scope", s.strict ? s.scope + " strict" : s.scope).add("issuers", s.issuers);
    line.add("outstanding", s.outstanding);
    line.add("mib_per_second", requests * block_size / 0x1p20 / seconds_between(before, after));
    line.add("cpu_percent", cpu_percent(before, after) / static_cast<double>(bench::usable_cpus().size()));
    line.add("in_pod_percent", 100 * static_cast<double>(in_pod) / requests);
    line.add("on_cpu_percent", 100 * static_cast<double>(on_cpu) / requests);
    line.add("repatriated", rt.stats().repatriated).add("threads", rt.stats().peak_threads);
    line.print();
}

} // namespace

int main(int argc, char** argv) {
    settings s;
    const auto scopes = bench::scopes_by_name();
    CLI::App app{"Issuers whose blocks items of a queue process, for one affinity scope. Prints one line of JSON.",
                 "affinity"};
    app.add_option("--policy", s.policy, "unbound or elastic")
        ->check(CLI::IsMember({"unbound", "elastic"}))
        ->capture_default_str();
    app.add_option("--scope", s.scope, "affinity scope")->check(CLI::IsMember(scopes))->capture_default_str();
    app.add_flag("--strict", s.strict, "workers may not leave their pod");
    app.add_option("--issuers", s.issuers, "threads that issue requests")
        ->check(bench::between(1, 1000))
        ->capture_default_str();
    app.add_option("--outstanding", s.outstanding, "requests outstanding of each issuer")
        ->check(bench::between(1, 4096))
        ->capture_default_str();
    app.add_option("--shard-size", s.shard_size, "cores of a cache_shard: with 1 each core has a cache of its own")
        ->check(bench::between(1, 1024))
        ->capture_default_str();
    app.add_option("--seconds", s.seconds, "duration, seconds")->check(bench::duration())->capture_default_str();
    app.add_option("--requests", s.requests, "end after this many requests of each issuer instead; 0: by time")
        ->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    return bench::run_and_report("affinity", [&] {
        if (s.policy == "elastic") measure<cmwq::elastic>(s, scopes.at(s.scope));
        else measure<cmwq::unbound>(s, scopes.at(s.scope));
    });
}
