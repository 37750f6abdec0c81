// SPDX-License-Identifier: BSL-1.0
#include "queues.hpp"

#include <cmwq/stats.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace soak {

namespace {

std::size_t nr_domains(order o, std::size_t nr_cpus) {
    switch (o) {
    case order::none: break;
    case order::whole: return 1;
    case order::per_cpu: return nr_cpus;
    case order::per_context: return nr_cpus * max_threads;
    }
    return 0;
}

} // namespace

any_queue::any_queue(nature n, complaints& c, std::size_t nr_cpus)
    : is(n), complain(c), inside_cpu(nr_cpus), domains(nr_domains(n.order, nr_cpus)) {
    for (int i = 0; i < 2; ++i) reliable.emplace_back(*this);
}

void any_queue::drain() {
    ++drains_begun;
    do_drain();
    ++drains_ended;
}

void any_queue::shut_down() {
    ++drains_begun; // it never ends
    dropped.add(do_shut_down());
    shut_.store(true);
}

void any_queue::destroy() {
    ++drains_begun;
    do_destroy();
    ++drains_ended;
    complain.expect_equal(entered, left, "runs that began, runs that ended", is.kind);
    complain.expect_equal(posted, post_ran + dropped, "closures that were accepted, that ran or were dropped", is.kind);
    complain.expect_equal(thrown, caught, "exceptions thrown, exceptions caught", is.kind);
    complain.expect_equal(inside, 0, "items inside of a destroyed queue", is.kind);
    for (reliable_item& i : reliable) i.verify();
    for (const domain& d : domains) complain.expect_equal(d.next, d.ran, "queued in order, ran", is.kind);
}

namespace {

template <class P>
class queue_of final : public any_queue {
    static constexpr bool has_limit =
        requires(cmwq::workqueue<P> q) { q.set_min_active(1); } || P::pool == cmwq::pool_kind::per_cpu;
    static constexpr bool has_attrs = P::pool == cmwq::pool_kind::attrs_keyed;

public:
    queue_of(host& h, complaints& c, nature n, cmwq::options<P> o) : any_queue(n, c, h.cpus().back() + 1) {
        o.name = n.kind;
        o.on_exception = [this](const std::exception_ptr& e) {
            try {
                std::rethrow_exception(e);
            } catch (const planned_exception&) {
                ++caught;
            }
        };
        queue_.emplace(h.runtime(), std::move(o));
    }
    // The destructor of a queue may throw if it finds a deadlock. Here that ends the program, like any failure.
    ~queue_of() noexcept override = default;
    queue_of(const queue_of&) = delete;
    queue_of& operator=(const queue_of&) = delete;

    cmwq::workqueue_base& front() override { return *queue_; }
    void flush() override { queue_->flush(); }
    void set_max_active([[maybe_unused]] unsigned n) override {
        if constexpr (has_limit) queue_->set_max_active(n);
    }
    void set_min_active([[maybe_unused]] unsigned n) override {
        if constexpr (has_limit && has_attrs) queue_->set_min_active(n);
    }
    void apply([[maybe_unused]] const cmwq::attrs& a) override {
        if constexpr (has_attrs) queue_->apply(a);
    }
    void apply_own() override {
        if constexpr (has_attrs) queue_->apply(queue_->attributes());
    }
    std::unique_ptr<cmwq::task_group> make_group() override {
        if constexpr (P::may_block) return std::make_unique<cmwq::task_group>(*queue_);
        else return nullptr;
    }
    cmwq::queue_status queue_on_node([[maybe_unused]] unsigned node, cmwq::work_base& w) override {
        if constexpr (has_attrs) return queue_->queue_on_node(node, w);
        else return queue_->queue(w);
    }

private:
    void do_drain() override { queue_->drain(); }
    std::size_t do_shut_down() override { return queue_->shutdown(cmwq::cancel_pending); }
    void do_destroy() override {
        complain.expect(queue_->name() == is.kind, "a queue has a wrong name", is.kind);
        if (dice().one_in(2)) { // otherwise the destructor drains, and the statistics cannot be checked
            queue_->drain();
            const cmwq::queue_stats s = queue_->stats();
            complain.expect_equal(s.started, entered, "started, entered", is.kind);
            complain.expect_equal(s.completed, left, "completed, left", is.kind);
        }
        queue_.reset();
    }

    std::optional<cmwq::workqueue<P>> queue_;
};

/// Chooses the options that every policy with threads has.
template <class P>
void choose_rest(cmwq::options<P>& o, nature& n, stress::random& r) {
    n.rescuer = o.rescuer = r.one_in(4);
    n.freezable = o.freezable = r.one_in(4);
}

struct per_cpu_traits {
    std::string_view kind;
    cmwq::priority prio;
    bool cpu_intensive;
    bool power_efficient;
};

std::unique_ptr<any_queue> make_per_cpu(host& h, complaints& c, stress::random& r, const per_cpu_traits& t) {
    nature n{.kind = t.kind};
    const bool elastic = t.power_efficient && h.is_power_efficient();
    cmwq::options<cmwq::bound> o;
    o.priority = t.prio;
    o.cpu_intensive = t.cpu_intensive;
    o.power_efficient = t.power_efficient;
    choose_rest<cmwq::bound>(o, n, r);
    if (r.one_in(2)) {
        n.has_limit = true;
        if (r.one_in(2)) o.max_active = 1 + r.below(8);
    } else {
        n.at_once = o.max_active = r.one_in(2) ? 1 : 1 + r.below(4);
        // A pool that spans the nodes of the simulated machine, or several pools, may run more items.
        if (!h.is_real()) n.at_once = 0;
        n.at_once_per_cpu = !elastic;
        if (o.max_active == 1 && !elastic) n.order = order::per_cpu;
    }
    return std::make_unique<queue_of<cmwq::bound>>(h, c, n, std::move(o));
}

std::unique_ptr<any_queue> make_bound(host& h, complaints& c, stress::random& r) {
    return make_per_cpu(h, c, r, {"bound", cmwq::priority::normal, false, false});
}
std::unique_ptr<any_queue> make_bound_high(host& h, complaints& c, stress::random& r) {
    return make_per_cpu(h, c, r, {"bound.high", cmwq::priority::high, false, false});
}
std::unique_ptr<any_queue> make_bound_fifo(host& h, complaints& c, stress::random& r) {
    return make_per_cpu(h, c, r, {"bound.fifo", cmwq::priority::fifo, false, false});
}
std::unique_ptr<any_queue> make_bound_intensive(host& h, complaints& c, stress::random& r) {
    return make_per_cpu(h, c, r, {"bound.cpu_intensive", cmwq::priority::normal, true, false});
}
std::unique_ptr<any_queue> make_bound_efficient(host& h, complaints& c, stress::random& r) {
    const auto prio = r.one_in(2) ? cmwq::priority::normal : cmwq::priority::high;
    return make_per_cpu(h, c, r, {"bound.power_efficient", prio, false, true});
}

/// Values that the constructor accepts.
cmwq::attrs possible_attrs(host& h, stress::random& r) {
    cmwq::attrs a = some_attrs(r, h.cpus());
    return a.on_all_cpus() ? a : cmwq::attrs{};
}

template <class P>
std::unique_ptr<any_queue> make_keyed(host& h, complaints& c, stress::random& r) {
    nature n{.kind = P::name, .has_attrs = true};
    cmwq::options<P> o;
    o.attrs = possible_attrs(h, r);
    choose_rest<P>(o, n, r);
    if (r.one_in(2)) {
        n.has_limit = true;
        if (r.one_in(2)) o.max_active = 1 + r.below(8);
        if (r.one_in(2)) o.min_active = 1 + r.below(o.max_active);
    } else {
        n.at_once = o.max_active = 1 + r.below(8);
        if (!h.is_real()) n.at_once = 0; // each node of the simulated machine has its own limit
    }
    return std::make_unique<queue_of<P>>(h, c, n, std::move(o));
}

std::unique_ptr<any_queue> make_ordered(host& h, complaints& c, stress::random& r) {
    nature n{.kind = "ordered", .has_attrs = true, .order = order::whole, .at_once = 1};
    cmwq::options<cmwq::ordered> o;
    o.attrs = possible_attrs(h, r);
    choose_rest<cmwq::ordered>(o, n, r);
    return std::make_unique<queue_of<cmwq::ordered>>(h, c, n, std::move(o));
}

std::unique_ptr<any_queue> make_bh(host& h, complaints& c, stress::random& r) {
    cmwq::options<cmwq::bh> o;
    const bool high = r.one_in(2);
    if (high) o.priority = cmwq::priority::high;
    const nature n{.kind = high ? "bh.high" : "bh", .may_block = false, .order = order::per_context};
    return std::make_unique<queue_of<cmwq::bh>>(h, c, n, std::move(o));
}

} // namespace

const std::vector<queue_kind>& queue_kinds() {
    static const std::vector<queue_kind> all{
        {"bound", true, make_bound},
        {"bound.high", true, make_bound_high},
        {"bound.fifo", true, make_bound_fifo},
        {"bound.cpu_intensive", true, make_bound_intensive},
        {"bound.power_efficient", true, make_bound_efficient},
        {"unbound", true, make_keyed<cmwq::unbound>},
        {"elastic", true, make_keyed<cmwq::elastic>},
        {"ordered", true, make_ordered},
        {"bh", false, make_bh},
    };
    return all;
}

} // namespace soak
