// SPDX-License-Identifier: BSL-1.0
//
// control_commands: what clients of the control socket may ask. docs/dev/control_protocol.md describes it.
#pragma once

#include <cmwq/detail/api/duration.hpp>
#include <cmwq/detail/control/queue_attributes.hpp>
#include <cmwq/detail/control/runtime_attributes.hpp>
#include <cmwq/detail/engine/api/runtime_access.hpp>
#include <cmwq/detail/engine/report/json_writer.hpp>
#include <cmwq/detail/engine/report/metrics.hpp>
#include <cmwq/detail/engine/report/version_text.hpp>
#include <cmwq/detail/engine/runtime/option_text.hpp>
#include <cmwq/detail/engine/runtime/wanted_leaves.hpp>
#include <cmwq/detail/os/file.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/runtime.hpp>
#include <cmwq/stats.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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
    [[nodiscard]] static std::string refusal(std::string_view sentence) { return line_of("error", sentence); }

private:
    using json = nlohmann::json; // reads requests; json_writer costs each program less that includes this
    using attribute_list = std::vector<std::pair<std::string, std::string>>;

    /// A line with an object, to which `f(json_writer&)` adds the members.
    template <std::invocable<json_writer&> F>
    [[nodiscard]] static std::string line_of(const F& f) {
        json_writer to;
        to.open('{');
        f(to);
        to.close('}');
        return to.take() + '\n';
    }
    [[nodiscard]] static std::string line_of(std::string_view name, std::string_view value) {
        return line_of([&](json_writer& to) { to.key(name).value(value); });
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
        if (command == "metrics") return line_of("text", runtime_.metrics());
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
        return line_of([&](json_writer& to) {
            to.key("protocol").value(protocol);
            to.key("version").value(version_text());
            to.key("pid").value(main_thread_id());
            to.key("program").value(program);
            to.key("runtime").value(core().name());
        });
    }

    std::string queues() const {
        const runtime_numbers all = numbers_of(core());
        return line_of([&](json_writer& to) {
            to.key("queues").open('[');
            for (const queue_numbers& q : all.queues) {
                const pwq_stats& n = q.counts;
                to.open('{');
                to.key("name").value(q.name);
                to.key("policy").value(q.policy);
                to.key("max_active").value(q.max_active);
                to.key("rescuer").value(q.rescuer);
                to.key("pending").value(n.pending);
                to.key("active").value(n.active);
                to.key("inactive").value(n.inactive);
                for_each_counter_of_queue(
                    [&](const char* name, std::uint64_t queue_counters::* member) { to.key(name).value(n.*member); });
                to.close('}');
            }
            to.close(']');
            to.key("locked");
            if (!all.every_queue) return to.null();
            to.open('[');
            for (const std::string& name : all.locked) to.value(name);
            to.close(']');
        });
    }

    /// `wanted`: an attribute; empty: all.
    std::string get(const json& request, const std::string& wanted = {}) const {
        const bool of_queue = request.contains("queue");
        attribute_list attributes;
        const auto add = [&](std::string_view name, std::string value) {
            attributes.emplace_back(name, std::move(value));
        };
        if (of_queue) with_queue(request, [&](const queue_core& q) { queue_attributes::for_each(q, add); });
        else runtime_attributes::for_each(runtime_, add);
        keep_only(wanted, attributes);
        return line_of([&](json_writer& to) {
            to.key("attributes").open('{');
            for (const auto& [name, value] : attributes) to.key(name).value(value);
            to.close('}');
            if (of_queue) return;
            to.key("exported").open('[');
            for_each_exported([&](const queue_core& q) { to.value(q.name); });
            to.close(']');
        });
    }
    static void keep_only(const std::string& wanted, attribute_list& attributes) {
        if (wanted.empty()) return;
        const auto found = std::ranges::find(attributes, wanted, &attribute_list::value_type::first);
        if (found != attributes.end()) {
            attributes = {*found};
            return;
        }
        const auto for_each = [&](const auto& f) {
            for (const auto& [name, value] : attributes) f(name, value);
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
        return line_of("text", runtime_.stall_report(at_least));
    }

    std::string dump(const json& request) const {
        const std::string format = request.contains("format") ? text_of(request, "format") : "text";
        if (format == "text") return line_of("text", runtime_.dump());
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
        return line_of([&](json_writer& to) {
            to.key("tracing").value(trace_ != nullptr);
            if (trace_ != nullptr || trace_failure_ == 0) return;
            to.key("failed").value(trace_file_ + ": " + std::generic_category().message(trace_failure_));
        });
    }

    runtime& runtime_;
    std::string trace_file_; // of the last trace
    int trace_failure_ = 0;  // an errno; the tracer's own until it has ended
    std::unique_ptr<wanted_traces> trace_;
    std::int64_t trace_ends_at_ = 0; // steady clock; 0: there is no trace
};

}}} // namespace cmwq::CMWQ_NS::detail
