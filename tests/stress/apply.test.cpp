// SPDX-License-Identifier: BSL-1.0
//
// Queues of every policy under full load, while their attributes and limits, and the runtime's CPUs and default scope,
// change at random.
#include "catch.hpp"
#include "eventually.hpp"
#include "policy_list.hpp"
#include "simulated.hpp"
#include "stress.hpp"

#include <cmwq/cmwq.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

using cmwq::affinity_scope;
using cmwq::attrs;
using cmwq::cpuset;
using cmwq::queue_status;
using namespace std::chrono_literals;

namespace {

constexpr unsigned nr_producers = 3;

attrs some_attrs(stress::random& r, const std::vector<unsigned>& cpus) {
    attrs a;
    if (r.one_in(2)) a.nice(static_cast<int>(r.below(3)));
    if (r.one_in(4)) a.scheduling(cmwq::scheduling::batch);
    if (r.one_in(2)) a.affinity(cmwq::affinity_scopes[r.below(std::size(cmwq::affinity_scopes))]);
    if (r.one_in(3)) a.strict(true);
    if (r.one_in(3)) {
        cpuset some;
        for (const unsigned cpu : cpus) {
            if (r.one_in(2)) some.insert(cpu);
        }
        a.cpus(some); // may be empty, or without a CPU that is available now: then it is refused
    }
    return a;
}

/// A queue with all that is queued on it, whatever its policy.
class load {
public:
    load() = default;
    virtual ~load() = default;
    load(const load&) = delete;
    load& operator=(const load&) = delete;

    virtual void produce(unsigned producer, stress::random& r) = 0;
    virtual void change(stress::random& r) = 0;
    virtual void finish() = 0;                       ///< afterwards everything has run
    [[nodiscard]] virtual std::string verdict() = 0; ///< the errors found; empty: none
    [[nodiscard]] virtual std::uint64_t nr_runs() = 0;
};

template <class P>
class load_of final : public load {
public:
    load_of(cmwq::runtime& rt, stress::complaints& c, const std::vector<unsigned>& cpus)
        : complaints_(c), cpus_(cpus), q_(std::make_unique<cmwq::workqueue<P>>(rt, P::name)) {
        for (unsigned i = 0; i < nr_items; ++i) items_.push_back(std::make_unique<item>(c));
    }

    void produce(unsigned producer, stress::random& r) override {
        const unsigned cpu = cpus_[r.below(static_cast<unsigned>(cpus_.size()))];
        const auto delay = std::chrono::microseconds{r.below(200)};
        item& i = *items_[r.below(nr_items)];
        switch (r.below(9)) {
        case 0:
        case 1:
        case 2: post(producer, cpu, r.one_in(32)); break;
        case 3:
        case 4: i.note(q_->queue_on(cpu, i.work)); break;
        case 5: i.note(q_->queue_after_on(cpu, delay, i.work)); break;
        case 6: i.note(q_->modify(delay, i.work)); break;
        case 7:
            if (r.one_in(2) ? i.work.cancel() : i.work.cancel_sync()) ++i.cancelled;
            break;
        case 8:
            if (r.one_in(8)) q_->flush();
            else i.work.flush();
            break;
        }
    }

    void change(stress::random& r) override {
        const unsigned max = 1 + r.below(r.one_in(4) ? 256 : 8);
        if constexpr (cmwq_test::has_limit<P>) {
            if (r.one_in(3)) q_->set_max_active(max);
            if constexpr (cmwq_test::has_attributes<P>) {
                if (r.one_in(3)) if_possible([&] { q_->set_min_active(max); });
            }
        }
        if constexpr (cmwq_test::has_attributes<P>) {
            if (!r.one_in(3)) if_possible([&] { q_->apply(some_attrs(r, cpus_)); });
            if (r.one_in(8)) if_possible([&] { q_->apply(q_->attributes()); }); // its CPUs may be gone
        }
    }

    void finish() override { q_->drain(); }

    std::string verdict() override {
        std::string text;
        const auto expect = [&](bool holds, std::uint64_t a, std::uint64_t b, const char* what) {
            if (!holds) {
                text += std::string(P::name) + ": " + what + ": " + std::to_string(a) + ", " + std::to_string(b) + '\n';
            }
        };
        std::uint64_t all = 0;
        for (unsigned p = 0; p < nr_producers; ++p) {
            expect(ran_[p] == posted_[p], ran_[p], posted_[p], "posts that ran, and all");
            all += ran_[p];
        }
        for (const auto& i : items_) {
            const std::uint64_t ran = i->exclusive.finished();
            expect(!i->work.busy(), 0, 0, "an item is busy after all");
            expect(i->exclusive.counted_plainly() == ran, i->exclusive.counted_plainly(), ran, "runs counted plainly");
            expect(ran + i->cancelled == i->queued, ran + i->cancelled, i->queued, "ran or cancelled, and queued");
            all += ran;
        }
        expect(q_->stats().started == all, q_->stats().started, all, "started, and ran");
        expect(q_->stats().completed == all, q_->stats().completed, all, "completed, and ran");
        return text;
    }
    std::uint64_t nr_runs() override { return q_->stats().completed; }

private:
    static constexpr unsigned nr_items = 4;

    struct item {
        explicit item(stress::complaints& c) : exclusive(c) {}
        void note(queue_status s) {
            // already_pending and disabled: another thread cancels it just now, with cancel_sync().
            if (s == queue_status::queued) ++queued;
        }
        struct call {
            item& i;
            void operator()() {
                i.exclusive.run([] { stress::burn(300); });
            }
        };
        std::atomic<std::uint64_t> queued{0}, cancelled{0};
        stress::exclusive exclusive;
        cmwq::delayed_work<call> work{call{*this}};
    };

    template <class F>
    static void if_possible(F f) {
        try {
            f();
        } catch (const std::invalid_argument&) { // nothing has changed then
        }
    }

    void expect_order([[maybe_unused]] unsigned producer, [[maybe_unused]] std::uint64_t number) {
        if constexpr (cmwq_test::runs_one_at_a_time<P> && cmwq_test::has_attributes<P>) {
            complaints_.expect(!inside_.exchange(true), "an ordered queue runs two items at once");
            complaints_.expect(ran_[producer] == number, "an ordered queue has lost its order");
        }
    }

    void post(unsigned producer, unsigned cpu, bool blocks) {
        const std::uint64_t number = posted_[producer]++;
        const queue_status s = q_->post_on(cpu, [this, producer, number, blocks] {
            expect_order(producer, number);
            if (blocks && cmwq_test::can_block<P>) stress::block_for(50us);
            else stress::burn(300);
            inside_ = false;
            ++ran_[producer];
        });
        complaints_.expect(s == queue_status::queued, "a post is not accepted");
        if (number - ran_[producer] > 1000) q_->flush(); // not faster than they run
    }

    stress::complaints& complaints_;
    const std::vector<unsigned>& cpus_;
    std::atomic<bool> inside_{false};
    std::array<std::uint64_t, nr_producers> posted_{}; // each producer's own
    std::array<std::atomic<std::uint64_t>, nr_producers> ran_{};
    std::vector<std::unique_ptr<item>> items_;
    std::unique_ptr<cmwq::workqueue<P>> q_; // destroyed first: the items are queued on it
};

template <class... P>
std::vector<std::unique_ptr<load>> loads(std::tuple<P...> /*policies*/, cmwq::runtime& rt, stress::complaints& c,
                                         const std::vector<unsigned>& cpus) {
    std::vector<std::unique_ptr<load>> all;
    (all.push_back(std::make_unique<load_of<P>>(rt, c, cpus)), ...);
    return all;
}

void change_runtime(cmwq::runtime& rt, stress::random& r, const std::vector<unsigned>& cpus) {
    if (r.one_in(2)) {
        rt.set_default_scope(cmwq::affinity_scopes[r.below(std::size(cmwq::affinity_scopes))]);
        return;
    }
    cpuset some;
    for (const unsigned cpu : cpus) {
        if (r.one_in(2)) some.insert(cpu);
    }
    try {
        rt.set_unbound_cpus(some);
    } catch (const std::invalid_argument&) { // none
    }
}

void run(cmwq::runtime_options options) {
    const std::ptrdiff_t nr_tasks = cmwq_test::nr_tasks();
    {
        options.idle_timeout = 5ms; // threads come and go
        cmwq::runtime rt{std::move(options)};
        const std::vector<unsigned> cpus(rt.cpus().begin(), rt.cpus().end());
        stress::complaints complaints;
        std::vector<std::unique_ptr<load>> all = loads(cmwq_test::every_policy{}, rt, complaints, cpus);
        const auto some = [&](stress::random& r) -> load& { return *all[r.below(static_cast<unsigned>(all.size()))]; };
        const stress::box box;
        stress::on_threads(nr_producers + 2, [&](unsigned t) {
            stress::random r(t);
            while (box.open()) {
                if (t < nr_producers) {
                    for (int i = 0; i < 64; ++i) some(r).produce(t, r);
                } else {
                    some(r).change(r);
                    if (r.one_in(4)) change_runtime(rt, r, cpus);
                    stress::block_for(std::chrono::microseconds{r.below(500)});
                }
            }
        });
        std::uint64_t total = 0;
        for (const auto& one : all) {
            one->finish();
            CHECK(one->verdict() == "");
            CHECK(one->nr_runs() > 0);
            total += one->nr_runs();
        }
        CHECK(complaints.text() == "");
        CHECK(rt.stats().items_completed == total);
        all.clear();
        // Shared pools end with their last user. Each CPU keeps two threads for bound queues and one for bottom halves.
        CHECK(cmwq_test::eventually([&] { return rt.stats().threads <= 3 * cpus.size(); }));
    }
    CHECK(cmwq_test::eventually([&] { return cmwq_test::nr_tasks() == nr_tasks; }));
}

} // namespace

TEST_CASE("stress: queues of every policy keep their promises while all of their settings change") { run({}); }

TEST_CASE("stress: queues keep their promises also on a simulated machine of two nodes") {
    run(cmwq_test::two_nodes());
}
