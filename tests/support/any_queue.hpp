// SPDX-License-Identifier: BSL-1.0
//
// A queue whose policy is chosen at run time.
#pragma once

#include "any_policy.hpp"

#include <cmwq/async.hpp>
#include <cmwq/attrs.hpp>
#include <cmwq/options.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/task_group.hpp>
#include <cmwq/workqueue.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace cmwq_test {

/// The options of a queue. One that the policy does not have must not be set: the constructor of the queue throws.
struct any_options {
    std::string_view name = {};
    std::optional<unsigned> max_active = {};
    unsigned min_active = 0;
    cmwq::attrs attrs = {};
    bool rescuer = false;
    bool freezable = false;
    cmwq::exception_handler on_exception = {};
};

/// Options of a queue with at most `n` active items (bound: on each CPU), if the policy has that option.
inline any_options at_most(const any_policy& p, unsigned n, std::string_view name) {
    any_options o{.name = name};
    if (p.has_limit) o.max_active = n;
    return o;
}

/// The operations of `workqueue<P>`, with their documentation. Those that the policy does not have throw.
class any_queue {
public:
    explicit any_queue(const any_policy& p, any_options o = {}) : any_queue(p, nullptr, std::move(o)) {}
    any_queue(const any_policy& p, const char* name) : any_queue(p, any_options{.name = name}) {}
    any_queue(const any_policy& p, cmwq::runtime& rt, any_options o = {}) : any_queue(p, &rt, std::move(o)) {}
    any_queue(const any_policy& p, cmwq::runtime& rt, const char* name) : any_queue(p, rt, any_options{.name = name}) {}
    ~any_queue() { does_->destroy(q_); }
    any_queue(const any_queue&) = delete;
    any_queue& operator=(const any_queue&) = delete;

    [[nodiscard]] const any_policy& policy() const { return does_->policy; }
    [[nodiscard]] cmwq::workqueue_base& base() const { return q_; }
    operator cmwq::workqueue_base&() const { return q_; } // NOLINT(google-explicit-constructor): it is one

    cmwq::queue_status queue(cmwq::work_base& w) { return q_.queue(w); }
    cmwq::queue_status queue_on(unsigned cpu, cmwq::work_base& w) { return q_.queue_on(cpu, w); }
    template <class D>
    cmwq::queue_status queue_after(const D& delay, cmwq::delayed_work_base& w) {
        return q_.queue_after(delay, w);
    }
    template <class D>
    cmwq::queue_status queue_after_on(unsigned cpu, const D& delay, cmwq::delayed_work_base& w) {
        return q_.queue_after_on(cpu, delay, w);
    }
    template <class D>
    cmwq::queue_status modify(const D& delay, cmwq::delayed_work_base& w) {
        return q_.modify(delay, w);
    }
    template <class F>
    cmwq::queue_status post(F&& f) {
        return q_.post(std::forward<F>(f));
    }
    template <class F>
    cmwq::queue_status post_on(unsigned cpu, F&& f) {
        return q_.post_on(cpu, std::forward<F>(f));
    }
    template <class F>
    [[nodiscard]] auto async(F&& f) {
        return q_.async(std::forward<F>(f));
    }
    void set_max_active(unsigned n) { q_.set_max_active(n); }
    [[nodiscard]] unsigned max_active() const { return q_.max_active(); }
    [[nodiscard]] std::string_view name() const { return q_.name(); }
    [[nodiscard]] cmwq::queue_stats stats() const { return q_.stats(); }

    void flush() { does_->flush(q_); }
    void drain() { does_->drain(q_); }
    std::size_t shutdown(cmwq::cancel_pending_t /*what*/) { return does_->shutdown(q_); }
    std::size_t shutdown(cmwq::cancel_pending_t /*what*/, const std::function<void(cmwq::work_base&)>& f) {
        return does_->shutdown_with(q_, f);
    }
    void set_min_active(unsigned n) { does_->set_min_active(q_, n); }
    [[nodiscard]] unsigned min_active() const { return does_->min_active(q_); }
    void apply(const cmwq::attrs& a) { does_->apply(q_, a); }
    [[nodiscard]] cmwq::attrs attributes() const { return does_->attributes(q_); }
    cmwq::queue_status queue_on_node(unsigned node, cmwq::work_base& w) { return does_->queue_on_node(q_, node, w); }
    [[nodiscard]] std::unique_ptr<cmwq::task_group> make_group() { return does_->make_group(q_); }

private:
    // Not virtual functions: items call these while the queue is being destroyed.
    struct operations {
        any_policy policy;
        cmwq::workqueue_base& (*make)(cmwq::runtime*, any_options&&);
        void (*destroy)(cmwq::workqueue_base&);
        void (*flush)(cmwq::workqueue_base&);
        void (*drain)(cmwq::workqueue_base&);
        std::size_t (*shutdown)(cmwq::workqueue_base&);
        std::size_t (*shutdown_with)(cmwq::workqueue_base&, const std::function<void(cmwq::work_base&)>&);
        void (*set_min_active)(cmwq::workqueue_base&, unsigned);
        unsigned (*min_active)(cmwq::workqueue_base&);
        void (*apply)(cmwq::workqueue_base&, const cmwq::attrs&);
        cmwq::attrs (*attributes)(cmwq::workqueue_base&);
        cmwq::queue_status (*queue_on_node)(cmwq::workqueue_base&, unsigned, cmwq::work_base&);
        std::unique_ptr<cmwq::task_group> (*make_group)(cmwq::workqueue_base&);
    };
    template <class P>
    static operations operations_of();
    template <class... P>
    static const operations& find(std::string_view policy, std::tuple<P...> all);

    any_queue(const any_policy& p, cmwq::runtime* rt, any_options&& o);

    const operations* const does_;
    cmwq::workqueue_base& q_;
};

} // namespace cmwq_test
