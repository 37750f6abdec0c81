// SPDX-License-Identifier: BSL-1.0
//
// The attributes of an exported queue, by name and as text.
#pragma once

#include <cmwq/attrs.hpp>
#include <cmwq/cpuset.hpp>
#include <cmwq/detail/engine/item/item_name.hpp>
#include <cmwq/detail/engine/queue/queue_core.hpp>
#include <cmwq/detail/engine/runtime/option_text.hpp>
#include <cmwq/detail/engine/runtime/runtime_core.hpp>
#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/policy.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The configuration lock of the runtime is held during each call. The functions throw std::bad_alloc, and
/// std::invalid_argument with a sentence for the user; nothing changed then.
class queue_attributes {
public:
    /// Calls f(std::string_view name, std::string value) for each attribute that the policy of the queue has.
    template <class F>
    static void for_each(const queue_core& q, const F& f) {
        for (const attribute& a : all) {
            if (a.is_of(q)) f(a.name, a.get(q));
        }
    }
    static void set(queue_core& q, std::string_view name, std::string_view value) {
        for (const attribute& a : all) {
            if (a.name == name && a.is_of(q)) return a.set(q, value);
        }
        throw std::invalid_argument(describe_queue(q.name) + " has no attribute '" + std::string(name) + "'; it has " +
                                    option_text::names_of([&](const auto& f) { for_each(q, f); }));
    }

    /// Reads the value into `to`, or says what it has to be.
    template <class T>
    static void read(std::string_view name, std::string_view value, T& to) {
        if (!option_text::read(value, to)) refuse(name, value, option_text::wants(to));
    }
    static void read(std::string_view name, std::string_view value, cpuset& to, const char* or_else = "") {
        if (option_text::read(value, to)) return;
        refuse(name, value, "wants a list of CPUs below " + std::to_string(cpuset::capacity) + ", as 0-3,8" + or_else);
    }

private:
    [[noreturn]] static void refuse(std::string_view name, std::string_view value, const std::string& wants) {
        throw std::invalid_argument(std::string(name) + "='" + std::string(value) + "': it " + wants);
    }

    struct attribute {
        std::string_view name;
        bool (*is_of)(const queue_core& q);
        std::string (*get)(const queue_core& q);
        void (*set)(queue_core& q, std::string_view value);
    };

    static bool has_limit(const queue_core& q) { return !q.how.fifo; }
    // And pods: one serves an ordered queue.
    static bool has_shares(const queue_core& q) { return q.has_attrs && !q.how.fifo; }
    static bool has_attrs(const queue_core& q) { return q.has_attrs; }

    template <class Change>
    static void change(queue_core& q, const Change& f) CMWQ_NO_TSA {
        attrs a = q.changes.attributes();
        f(a);
        q.rt.placing().apply_locked(q, a);
    }
    static std::string scope_of(const queue_core& q) CMWQ_NO_TSA {
        const affinity_scope s = q.changes.attributes().affinity();
        std::string text(to_string(s));
        if (s != affinity_scope::default_) return text;
        return text + " (" + std::string(to_string(q.rt.placing().default_scope_locked())) + ")";
    }

    static constexpr attribute all[] = {
        {"max_active", &has_limit, [](const queue_core& q) { return option_text::write(q.limits.max_active()); },
         [](queue_core& q, std::string_view value) {
             unsigned n = 0;
             if (!option_text::read(value, n)) {
                 refuse("max_active", value, "wants a whole number, 1 to " + std::to_string(max_active_ceiling));
             }
             set_queue_max_active(q, n);
         }},
        {"min_active", &has_shares, [](const queue_core& q) { return option_text::write(q.limits.min_active()); },
         [](queue_core& q, std::string_view value) {
             unsigned n = 0;
             if (!option_text::read(value, n)) {
                 refuse("min_active", value,
                        "wants a whole number, 1 to max_active, which is " + option_text::write(q.limits.max_active()));
             }
             set_queue_min_active(q, n);
         }},
        {"nice", &has_attrs, [](const queue_core& q) { return option_text::write(q.changes.attributes().nice()); },
         [](queue_core& q, std::string_view value) {
             int n = 0;
             if (!option_text::read(value, n)) throw std::invalid_argument("nice is a whole number, -20 to 19");
             change(q, [n](attrs& a) { a.nice(n); });
         }},
        {"cpumask", &has_attrs,
         [](const queue_core& q) {
             const attrs a = q.changes.attributes();
             return a.on_all_cpus() ? std::string("all") : option_text::write(a.cpus());
         },
         [](queue_core& q, std::string_view value) {
             cpuset cpus;
             const bool all_cpus = value == "all";
             if (!all_cpus) read("cpumask", value, cpus, ", or all");
             change(q, [&](attrs& a) {
                 if (!all_cpus) a.cpus(cpus);
                 else a = attrs{}.nice(a.nice()).scheduling(a.scheduling()).affinity(a.affinity()).strict(a.strict());
             });
         }},
        {"affinity_scope", &has_shares, &scope_of,
         [](queue_core& q, std::string_view value) {
             affinity_scope s = affinity_scope::default_;
             if (value != to_string(s) && !option_text::read(value, s)) {
                 refuse("affinity_scope", value,
                        option_text::wants(s) + ' ' + std::string(to_string(affinity_scope::default_)));
             }
             change(q, [s](attrs& a) { a.affinity(s); });
         }},
        {"affinity_strict", &has_shares,
         [](const queue_core& q) { return option_text::write(q.changes.attributes().strict()); },
         [](queue_core& q, std::string_view value) {
             bool on = false;
             read("affinity_strict", value, on);
             change(q, [on](attrs& a) { a.strict(on); });
         }},
    };
};

}}} // namespace cmwq::CMWQ_NS::detail
