// SPDX-License-Identifier: BSL-1.0
//
// posted: the item that post() makes from a callable.
#pragma once

#include <cmwq/detail/api/closure_storage.hpp>
#include <cmwq/work.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class F>
concept nullary = std::invocable<std::decay_t<F>&>;

/// A callable with an item that owns itself: made by post(), destroyed after its run.
template <class F>
class posted final : public self_owned_work {
public:
    struct from {};
    template <class G>
    posted(from, G&& g) : self_owned_work(&call, &drop, self_owned::closure), f_(std::forward<G>(g)) {}

private:
    static void drop(self_owned_work& w) noexcept { destroy_closure(static_cast<posted*>(&w)); }

    static void call(work_base& w) {
        // Destroys the item at the end of the scope, also if the callable throws.
        struct owner {
            posted* p;
            ~owner() { destroy_closure(p); }
        } const o{static_cast<posted*>(&w)};
        static_cast<void>(o.p->f_());
    }

    F f_;
};

/// Queues a copy of the callable on `q`, by `queue(work_base&)`. Destroys the copy if it is not queued.
template <class F, class Queue>
queue_status post_copy(queue_core& q, F&& f, const Queue& queue) {
    using item_type = posted<std::decay_t<F>>;
    auto* item = make_closure<item_type>(q, typename item_type::from{}, std::forward<F>(f));
    const queue_status s = queue(*item);
    if (s != queue_status::queued) destroy_closure(item);
    return s;
}

}}} // namespace cmwq::CMWQ_NS::detail
