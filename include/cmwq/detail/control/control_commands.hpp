// SPDX-License-Identifier: BSL-1.0
//
// control_commands: what clients of the control socket may ask. docs/dev/control_protocol.md describes it.
#pragma once

#include <cmwq/detail/api/duration.hpp>
#include <cmwq/detail/control/queue_attributes.hpp>
#include <cmwq/detail/control/runtime_attributes.hpp>
#include <cmwq/detail/engine/api/runtime_access.hpp>
#include <cmwq/detail/engine/report/metrics.hpp>
#include <cmwq/detail/engine/report/version_text.hpp>
#include <cmwq/detail/engine/runtime/option_text.hpp>
#include <cmwq/detail/engine/runtime/wanted_leaves.hpp>
#include <cmwq/detail/os/file.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/runtime.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The answers of one runtime. One thread at a time; not a bottom half.
class control_commands {
public:
    static constexpr int protocol = 1;

    explicit control_commands(runtime& rt) noexcept : runtime_(rt) {}

    /// Returns a line of JSON for a request, which is one as well, without the end of the line. A request that cannot
    /// be carried out changes nothing, and its answer has the member "error".
    [[nodiscard]] std::string answer(std::string_view request) {
        try {
            return carry_out(request);
        } catch (const std::exception& e) {
            std::string_view sentence = e.what();
            if (sentence.starts_with("cmwq: ")) sentence.remove_prefix(6); // the client says who speaks
            return refusal(sentence);
        }
    }
    /// When to call pass_time(), steady clock; 0: not at all.
    [[nodiscard]] std::int64_t due() const noexcept { return trace_ends_at_; }
    void pass_time(std::int64_t now) noexcept {
        if (trace_ends_at_ == 0 || now < trace_ends_at_) return;
        trace_.reset();
        trace_ends_at_ = 0;
    }
    [[nodiscard]] static std::string refusal(std::string_view sentence) { return line_of(json{{"error", sentence}}); }

private:
    using json = nlohmann::ordered_json;

    [[nodiscard]] static std::string line_of(const json& j) {
        return j.dump(-1, ' ', false, json::error_handler_t::replace) + '\n'; // names are any bytes
    }
    [[nodiscard]] runtime_core& core() const { return runtime_access::core_of(runtime_); }

    std::string carry_out(std::string_view text) {
        const json request = json::parse(text, nullptr, false);
        if (!request.is_object()) throw std::invalid_argument("a request is a JSON object in one line");
        const std::string command = text_of(request, "do");
        if (command == "hello") return hello();
        if (command == "queues") return queues();
        if (command == "get") return get(request, request.contains("attribute") ? text_of(request, "attribute") : "");
        if (command == "set") return set(request);
        if (command == "metrics") return line_of({{"text", runtime_.metrics()}});
        if (command == "stalls") return stalls(request);
        if (command == "dump") return dump(request);
        if (command == "trace") return trace(request);
        throw std::invalid_argument("there is no command '" + command +
                                    "'; there are hello, queues, get, set, metrics, stalls, dump, trace");
    }

    /// The member of that name, which must be there.
    static const json& member(const json& of, const char* name) {
        const auto found = of.find(name);
        if (found == of.end()) throw std::invalid_argument(std::string("the request lacks \"") + name + '"');
        return *found;
    }
    /// A text, or a number or a yes or no as text.
    static std::string text_of(const json& request, const char* name) {
        const json& value = member(request, name);
        if (value.is_string()) return value.get<std::string>();
        if (value.is_number_integer() || value.is_boolean()) return value.dump();
        throw std::invalid_argument(std::string("\"") + name + "\" is a text, a whole number or a boolean");
    }

    std::string hello() const {
        std::string program;
        static_cast<void>(os::read_file("/proc/self/comm", program));
        if (program.ends_with('\n')) program.pop_back();
        return line_of({{"protocol", protocol},
                        {"version", version_text()},
                        {"pid", main_thread_id()},
                        {"program", program},
                        {"runtime", core().name()}});
    }

    std::string queues() const {
        const runtime_numbers all = numbers_of(core());
        json list = json::array();
        for (const queue_numbers& q : all.queues) {
            const pwq_stats& n = q.counts;
            list.push_back({{"name", q.name},
                            {"policy", q.policy},
                            {"max_active", q.max_active},
                            {"rescuer", q.rescuer},
                            {"pending", n.pending},
                            {"active", n.active},
                            {"inactive", n.inactive},
                            {"started", n.started},
                            {"completed", n.completed},
                            {"cancelled", n.cancelled},
                            {"cpu_ns", n.cpu_ns},
                            {"saturated_ns", n.saturated_ns},
                            {"blocks_by_guard", n.blocks_by_guard},
                            {"blocks_by_sentinel", n.blocks_by_sentinel},
                            {"blocks_by_monitor", n.blocks_by_monitor},
                            {"spare_wakeups", n.spare_wakeups},
                            {"repatriated", n.repatriated},
                            {"cpu_hogs", n.cpu_hogs},
                            {"maydays", n.maydays},
                            {"rescued", n.rescued}});
        }
        return line_of({{"queues", list}, {"locked", all.every_queue ? json(all.locked) : json()}});
    }

    /// `wanted`: an attribute; empty: all.
    std::string get(const json& request, const std::string& wanted = {}) const {
        json attributes = json::object();
        const auto add = [&](std::string_view name, std::string value) {
            attributes[std::string(name)] = std::move(value);
        };
        if (!request.contains("queue")) {
            runtime_attributes::for_each(runtime_, add);
            keep_only(wanted, attributes);
            json names = json::array();
            for_each_exported([&](const queue_core& q) { names.push_back(q.name); });
            return line_of({{"attributes", attributes}, {"exported", names}});
        }
        with_queue(request, [&](const queue_core& q) { queue_attributes::for_each(q, add); });
        keep_only(wanted, attributes);
        return line_of({{"attributes", attributes}});
    }
    static void keep_only(const std::string& wanted, json& attributes) {
        if (wanted.empty()) return;
        if (attributes.contains(wanted)) {
            attributes = {{wanted, attributes[wanted]}};
            return;
        }
        const auto for_each = [&](const auto& f) {
            for (const auto& [name, value] : attributes.items()) f(name, value);
        };
        throw std::invalid_argument("there is no attribute '" + wanted + "'; there are " +
                                    option_text::names_of(for_each));
    }
    template <class F>
    void for_each_exported(const F& f) const {
        core().queues().for_each([&](const queue_core& q) {
            if (q.exported) f(q);
        });
    }

    std::string set(const json& request) {
        const std::string name = text_of(request, "attribute"), value = text_of(request, "value");
        if (!request.contains("queue")) runtime_attributes::set(runtime_, name, value);
        else with_queue(request, [&](queue_core& q) { queue_attributes::set(q, name, value); });
        return get(request);
    }

    template <class F>
    void with_queue(const json& request, const F& f) const {
        const std::string name = text_of(request, "queue");
        if (core().with_exported(name, f)) return;
        std::string why = "no queue of the name '" + name + "' is exported";
        if (runtime_attributes::has(runtime_, name)) {
            why += "; " + name + " is an attribute of the runtime, as `get` without a queue shows it";
        } else {
            why += ", as its option .exported = true would do" + exported_ones();
        }
        throw std::invalid_argument(why);
    }
    /// For a message: some of the exported queues.
    std::string exported_ones() const {
        constexpr std::size_t enough = 8;
        std::string names;
        std::size_t n = 0;
        for_each_exported([&](const queue_core& q) {
            if (++n <= enough) names += (n == 1 ? "" : ", ") + q.name;
        });
        if (n > enough) names += ", and others";
        return n == 0 ? "; no queue is" : "; exported are " + names;
    }

    std::string stalls(const json& request) const {
        std::chrono::nanoseconds at_least = std::chrono::seconds{1};
        if (request.contains("at_least")) queue_attributes::read("at_least", text_of(request, "at_least"), at_least);
        return line_of({{"text", runtime_.stall_report(at_least)}});
    }

    std::string dump(const json& request) const {
        const std::string format = request.contains("format") ? text_of(request, "format") : "text";
        if (format == "text") return line_of({{"text", runtime_.dump()}});
        if (format != "json") throw std::invalid_argument("the \"format\" of a dump is text or json");
        std::string whole = runtime_.dump(dump_format::json); // one line already
        whole.insert(0, "{\"dump\":");
        whole.back() = '}';
        return whole + '\n';
    }

    // Writes one trace at a time, and ends it by itself: its client may go.
    std::string trace(const json& request) {
        if (request.contains("file")) {
            const std::string file = text_of(request, "file");
            std::chrono::nanoseconds time{};
            queue_attributes::read("time", text_of(request, "time"), time);
            if (!file.starts_with('/')) throw std::invalid_argument("the \"file\" of a trace is a path from the root");
            if (time.count() == 0 || time > std::chrono::hours{1}) {
                throw std::invalid_argument("the \"time\" of a trace is more than 0, and at most 60min");
            }
            if (trace_ != nullptr) throw std::invalid_argument("a trace is being written");
            if (!is_contained(make_trace)) throw std::invalid_argument("the program does not contain <cmwq/trace.hpp>");
            trace_failure_ = 0;
            trace_file_ = file;
            trace_ = make_trace(runtime_, file, trace_failure_);
            trace_ends_at_ = steady_now() + time.count();
        }
        json now{{"tracing", trace_ != nullptr}};
        if (trace_ == nullptr && trace_failure_ != 0) {
            now["failed"] = trace_file_ + ": " + std::generic_category().message(trace_failure_);
        }
        return line_of(now);
    }

    runtime& runtime_;
    std::string trace_file_; // of the last trace
    int trace_failure_ = 0;  // an errno; the tracer's own until it has ended
    std::unique_ptr<wanted_traces> trace_;
    std::int64_t trace_ends_at_ = 0; // steady clock; 0: there is no trace
};

}}} // namespace cmwq::CMWQ_NS::detail
