// SPDX-License-Identifier: BSL-1.0
//
// Stages that hand on: each token passes the stages in turn. A stage handles one token at a time, in the order in which
// the first stage saw them. A fixed number of tokens is under way.
#include "workload.hpp"

#include "support/burn.hpp"
#include "support/pools/strands.hpp"
#include "support/stopwatch.hpp"
#include "support/tally.hpp"

#include <cmwq/work.hpp>
#if CMWQ_BENCH_TBB
#include <tbb/parallel_pipeline.h>
#endif

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

namespace suite {

namespace {

constexpr std::size_t nr_stages = 4;
constexpr std::size_t nr_under_way = 64;

/// The work of the stages, independent of the library.
class line {
public:
    line(std::uint64_t tokens, std::uint64_t rounds) : tokens_(tokens), rounds_(rounds) {}

    [[nodiscard]] std::uint64_t tokens() const noexcept { return tokens_; }
    /// In the first stage: numbers a token. Returns false if there are no more.
    [[nodiscard]] bool enter(std::uint64_t& number) noexcept {
        if (entered_ == tokens_) return false;
        number = entered_++;
        return true;
    }
    void pass(std::size_t stage, std::uint64_t number) noexcept {
        bench::spin(rounds_);
        if (next_[stage].number++ != number) out_of_order_.store(true, std::memory_order_relaxed);
    }
    [[nodiscard]] bool in_order() const noexcept {
        for (const position& p : next_) {
            if (p.number != tokens_) return false;
        }
        return !out_of_order_.load(std::memory_order_relaxed);
    }

private:
    // They are not atomic: a stage must handle one token at a time.
    struct alignas(64) position {
        std::uint64_t number = 0;
    };

    std::uint64_t tokens_;
    std::uint64_t rounds_;
    std::uint64_t entered_ = 0;
    std::array<position, nr_stages> next_;
    std::atomic<bool> out_of_order_{false};
};

/// The stages are strands, and each hand-over is a closure.
template <class Strands>
class strand_line {
public:
    explicit strand_line(line& l) : line_(l) {}

    void run() {
        for (std::size_t i = 0; i < nr_under_way; ++i) enter();
        done_ = ended_.wait_for(nr_under_way);
    }
    [[nodiscard]] bool done() const noexcept { return done_; }

private:
    void enter() {
        strands_.post(0, [this] {
            std::uint64_t number = 0;
            if (!line_.enter(number)) return ended_.add();
            line_.pass(0, number);
            hand_on(1, number);
        });
    }
    void hand_on(std::size_t stage, std::uint64_t number) {
        strands_.post(stage, [this, stage, number] {
            line_.pass(stage, number);
            if (stage + 1 < nr_stages) hand_on(stage + 1, number);
            else enter();
        });
    }

    line& line_;
    bench::tally ended_;
    bool done_ = false;
    Strands strands_{nr_stages};
};

/// The stages are ordered queues, and each token has an item that goes from one to the next.
class intrusive_line {
public:
    explicit intrusive_line(line& l) : line_(l) {
        for (std::size_t i = 0; i < nr_under_way; ++i) tokens_.emplace_back(*this);
    }

    void run() {
        for (token& t : tokens_) strands_.queue(0).queue(t.work);
        done_ = ended_.wait_for(nr_under_way);
    }
    [[nodiscard]] bool done() const noexcept { return done_; }

private:
    struct token {
        explicit token(intrusive_line& o) : owner(o) {}
        void advance() {
            if (stage == 0 && !owner.line_.enter(number)) return owner.ended_.add();
            owner.line_.pass(stage, number);
            stage = (stage + 1) % nr_stages;
            owner.strands_.queue(stage).queue(work);
        }

        intrusive_line& owner;
        std::size_t stage = 0;
        std::uint64_t number = 0;
        cmwq::work_member<&token::advance> work{*this};
    };

    line& line_;
    bench::tally ended_;
    bool done_ = false;
    bench::cmwq_strands strands_{nr_stages};
    std::deque<token> tokens_;
};

#if CMWQ_BENCH_TBB
class tbb_line {
public:
    explicit tbb_line(line& l) : line_(l) {}

    void run() {
        constexpr auto mode = tbb::filter_mode::serial_in_order;
        const auto stage = [this](std::size_t s) {
            return tbb::make_filter<std::uint64_t, std::uint64_t>(mode, [this, s](std::uint64_t number) {
                line_.pass(s, number);
                return number;
            });
        };
        const auto first = tbb::make_filter<void, std::uint64_t>(mode, [this](tbb::flow_control& control) {
            std::uint64_t number = 0;
            if (line_.enter(number)) line_.pass(0, number);
            else control.stop();
            return number;
        });
        const auto last = tbb::make_filter<std::uint64_t, void>(
            mode, [this](std::uint64_t number) { line_.pass(nr_stages - 1, number); });
        static_assert(nr_stages == 4);
        tbb::parallel_pipeline(nr_under_way, first & stage(1) & stage(2) & last);
    }
    [[nodiscard]] static bool done() noexcept { return true; }

private:
    line& line_;
};
#endif

template <class Line>
void measure(const run& r, const char* name_of_case, std::uint64_t spin_rounds) {
    const auto once = [&](std::uint64_t tokens) {
        line l{tokens, spin_rounds};
        Line library_line{l};
        const bench::stopwatch watch;
        library_line.run();
        const double ns = watch.ns();
        r.verify(library_line.done(), "tokens are missing");
        r.verify(l.in_order(), "tokens have passed out of order, or not at all");
        return ns;
    };
    const std::uint64_t tokens = r.pick(500u, 20'000u, 100'000u);
    once(tokens / 10);
    r.report(name_of_case, {{"ns_per_token", once(tokens) / static_cast<double>(tokens)}});
}

template <class Line>
void add(workload& w, std::string name) {
    w.contenders.push_back({std::move(name), [](const run& r) {
                                measure<Line>(r, "4 empty stages", 0);
                                measure<Line>(r, "4 stages of 1 us",
                                              static_cast<std::uint64_t>(bench::spin_rounds_per_us()));
                            }});
}

} // namespace

workload pipeline() {
    workload w{"pipeline", {}};
    add<strand_line<bench::cmwq_strands>>(w, "cmwq ordered");
    add<intrusive_line>(w, "cmwq ordered, intrusive");
#if CMWQ_BENCH_TBB
    add<tbb_line>(w, "oneTBB parallel_pipeline");
#endif
    add<strand_line<bench::asio_strands>>(w, bench::asio_strands::name());
    add<strand_line<bench::thread_strands>>(w, bench::thread_strands::name());
    return w;
}

} // namespace suite
