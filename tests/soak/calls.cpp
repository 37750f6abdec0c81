// SPDX-License-Identifier: BSL-1.0
#include "calls.hpp"

#include "kinds.hpp"

namespace soak {

using cmwq::queue_status;

namespace {

/// Checks the result of a queueing call: it may be `rejected` only if the queue drained during the call.
class answer {
public:
    explicit answer(any_queue& q) : q_(q), drains_(q) {}
    queue_status operator()(queue_status s, queue_status other = queue_status::already_pending) {
        const bool possible = s == queue_status::queued || s == queue_status::disabled || s == other ||
                              (s == queue_status::rejected && drains_.saw_one());
        q_.complain.expect(possible, "an impossible result of a queueing call", q_.is.kind);
        return s;
    }

private:
    any_queue& q_;
    drain_watch drains_;
};

} // namespace

queue_status submit(const host& h, any_queue& q, cmwq::work_base& w) {
    answer checked(q);
    stress::random& r = dice();
    if (r.one_in(2)) {
        const unsigned cpu = h.some_cpu(r);
        return checked(does(op::queue_on, [&] { return q.front().queue_on(cpu, w); }));
    }
    if (r.one_in(4) && q.is.has_attrs) {
        const auto node = static_cast<unsigned>(r.below(h.nr_nodes()));
        return checked(does(op::queue_on_node, [&] { return q.queue_on_node(node, w); }));
    }
    return checked(does(op::queue, [&] { return q.front().queue(w); }));
}

queue_status submit_after(const host& h, any_queue& q, cmwq::delayed_work_base& w, std::chrono::microseconds delay) {
    answer checked(q);
    stress::random& r = dice();
    if (r.one_in(2)) {
        const unsigned cpu = h.some_cpu(r);
        return checked(does(op::queue_after_on, [&] { return q.front().queue_after_on(cpu, delay, w); }));
    }
    return checked(does(op::queue_after, [&] { return q.front().queue_after(delay, w); }));
}

queue_status modify(any_queue& q, cmwq::delayed_work_base& w, std::chrono::microseconds delay) {
    answer checked(q);
    return checked(does(op::modify, [&] { return q.front().modify(delay, w); }), queue_status::modified);
}

} // namespace soak
