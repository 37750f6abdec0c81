// SPDX-License-Identifier: BSL-1.0
//
// perfetto_writer: makes a trace in the format of Perfetto (TrackEvent) of the records of all threads.
#pragma once

#include <cmwq/detail/engine_ops.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/detail/trace/by_text.hpp>
#include <cmwq/detail/trace/proto_message.hpp>
#include <cmwq/detail/trace/trace_entry.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The process has a track, below it each thread has one, and each queue two, with the number of its items that are
/// pending and running. The run of an item is a slice on the track of its thread; a block with a known end is a slice
/// inside it. A flow leads from the call that queued the item to its run. Annotations say which pool, item and CPU it
/// was, and how much CPU time a run took.
///
/// Records come in the order of their times, as far as that matters: an item that is queued after its start has no
/// flow. Members throw std::bad_alloc. One thread at a time.
class perfetto_writer {
public:
    /// Before all else. `monotonic`, `realtime`: both clocks at one moment, in nanoseconds.
    void begin(long pid, std::string_view program, std::int64_t monotonic, std::int64_t realtime) {
        pid_ = pid;
        packet(0, [&](proto_message& p) {
            p.number(field::sequence_flags, incremental_state_cleared);
            p.message(field::packet_defaults,
                      [](proto_message& d) { d.number(field::clock_of_packet, monotonic_clock); });
            p.message(field::clock_snapshot, [&](proto_message& c) {
                clock(c, monotonic_clock, monotonic);
                clock(c, realtime_clock, realtime);
                c.number(field::primary_clock, monotonic_clock);
            });
        });
        track(process_track, [&](proto_message& t) {
            t.message(field::process, [&](proto_message& d) {
                d.number(field::process_pid, static_cast<std::uint64_t>(pid));
                d.bytes(field::process_name, program);
            });
        });
    }

    /// The same, for this process, now.
    void begin() { begin(main_thread_id(), ::program_invocation_short_name, steady_now(), realtime_now()); }

    void add(const trace_entry& entry) {
        const trace_record& r = entry.record;
        const unsigned thread = entry.thread->number;
        add_thread(*entry.thread);
        unsigned& open = open_slices_[thread];
        if (r.nr_lost != 0) { // among them may be ends of slices
            for (; open != 0; --open) event(r.time, thread, slice_end, {}, {}, {});
            flows_.clear(); // or starts
            event(r.time, thread, instant, {}, name_id(std::to_string(r.nr_lost) + " events lost"), {});
        }
        switch (r.kind) {
        case trace_kind::queued: {
            const std::uint64_t flow = flows_[r.item].add(++last_flow_);
            event_of_item(r, thread, instant, name_id("queued"),
                          [&](proto_message& e) { e.fixed64(field::flow, flow); });
            count(r, +1, 0);
            break;
        }
        case trace_kind::cancelled:
            static_cast<void>(take_flow(r.item, &flows_of_item::take_last));
            event_of_item(r, thread, instant, name_id("cancelled"), {});
            count(r, -1, 0);
            break;
        case trace_kind::started:
            ++open;
            event_of_item(r, thread, slice_begin, name_of(r.function), [&](proto_message& e) {
                const std::uint64_t flow = take_flow(r.item, &flows_of_item::take_first);
                if (flow != 0) e.fixed64(field::last_of_flow, flow);
            });
            count(r, -1, +1);
            break;
        case trace_kind::ended:
            end_slice(r, thread, open, [&](proto_message& e) {
                annotate(e, "cpu_time_ns", [&](proto_message& a) {
                    a.number(field::number_value, static_cast<std::uint64_t>(r.cpu_time));
                });
            });
            count(r, 0, -1);
            break;
        case trace_kind::blocked:
            if (has_end(r.why)) ++open;
            event_of_item(r, thread, has_end(r.why) ? slice_begin : instant, name_id(name_of(r.why)), {});
            break;
        case trace_kind::unblocked: end_slice(r, thread, open, [&](proto_message& e) { annotate_cpu(e, r); }); break;
        case trace_kind::worker_created: event_of_worker(r, thread, "worker created"); break;
        case trace_kind::worker_woken: event_of_worker(r, thread, "worker woken"); break;
        case trace_kind::worker_ended: event_of_worker(r, thread, "worker ended"); break;
        case trace_kind::mayday: event_of_item(r, thread, instant, name_id("mayday"), {}); break;
        case trace_kind::reported:
            event(r.time, thread, instant, {}, name_id(r.name()), [&](proto_message& e) {
                annotate(e, "message", [&](proto_message& a) { a.bytes(field::text_value, *entry.message); });
            });
            break;
        }
    }

    /// So many items of the queue are pending.
    void set_pending(std::int64_t time, std::string_view queue, std::int64_t n) {
        queue_counts& c = counts_of(queue);
        set_counter(time, c.pending_track, c.pending = n);
    }

    /// What was written since the last call.
    [[nodiscard]] std::string take() noexcept { return std::exchange(out_, {}); }

private:
    // The numbers of the fields in Perfetto's messages.
    struct field {
        enum : unsigned {
            trace_packet = 1,
            // TracePacket
            clock_snapshot = 6,
            timestamp = 8,
            sequence_id = 10,
            track_event = 11,
            interned_data = 12,
            sequence_flags = 13,
            clock_of_packet = 58,
            packet_defaults = 59,
            track_descriptor = 60,
            // ClockSnapshot, and its Clock
            clocks = 1,
            primary_clock = 2,
            clock_id = 1,
            clock_time = 2,
            // TrackDescriptor, ProcessDescriptor, ThreadDescriptor
            uuid = 1,
            track_name = 2,
            process = 3,
            thread = 4,
            parent = 5,
            counter = 8,
            process_pid = 1,
            process_name = 6,
            thread_pid = 1,
            thread_tid = 2,
            thread_name = 5,
            // InternedData, and its members
            categories = 1,
            names = 2,
            iid = 1,
            text = 2,
            // TrackEvent
            category_id = 3,
            annotation = 4,
            type = 9,
            name_id = 10,
            track = 11,
            counter_value = 30,
            flow = 47,
            last_of_flow = 48,
            // DebugAnnotation
            number_value = 3,
            text_value = 6,
            pointer_value = 7,
            annotation_name = 10,
        };
    };
    enum event_type : std::uint64_t { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };
    static constexpr std::uint64_t incremental_state_cleared = 1, needs_incremental_state = 2;
    static constexpr std::uint64_t realtime_clock = 1, monotonic_clock = 3;
    static constexpr std::uint64_t process_track = 1, first_counter = std::uint64_t{1} << 32;
    static std::uint64_t track_of(unsigned thread) noexcept { return process_track + thread; }

    /// A text that is written once, and then named by a number from 1.
    struct text_ids {
        explicit text_ids(unsigned f) noexcept : kind(f) {}
        const unsigned kind; // the field of InternedData
        by_text<std::uint64_t> ids = {};
    };
    /// The flows of the instances of an item that have not started, the first one first. There are two if the item is
    /// queued again just when it starts, because that may be told first.
    struct flows_of_item {
        std::uint64_t first = 0, second = 0; ///< 0: none

        std::uint64_t add(std::uint64_t flow) noexcept {
            if (second != 0) first = std::exchange(second, 0);
            return (first == 0 ? first : second) = flow;
        }
        std::uint64_t take_first() noexcept { return std::exchange(first, std::exchange(second, 0)); }
        std::uint64_t take_last() noexcept { return std::exchange(second != 0 ? second : first, 0); }
    };

    struct queue_counts {
        std::uint64_t pending_track;
        std::int64_t pending = 0, running = 0;
    };

    template <class F>
    void packet(std::int64_t time, const F& fill) {
        proto_message(out_).message(field::trace_packet, [&](proto_message& p) {
            if (time != 0) p.number(field::timestamp, static_cast<std::uint64_t>(time));
            p.number(field::sequence_id, 1);
            if (!fresh_.empty()) p.bytes(field::interned_data, std::exchange(fresh_, {}));
            fill(p);
        });
    }
    static void clock(proto_message& c, std::uint64_t id, std::int64_t time) {
        c.message(field::clocks, [&](proto_message& m) {
            m.number(field::clock_id, id);
            m.number(field::clock_time, static_cast<std::uint64_t>(time));
        });
    }
    template <class F>
    void track(std::uint64_t id, const F& fill) {
        packet(0, [&](proto_message& p) {
            p.message(field::track_descriptor, [&](proto_message& t) {
                t.number(field::uuid, id);
                fill(t);
            });
        });
    }

    void add_thread(const traced_thread& t) {
        if (!threads_.insert(t.number).second) return;
        track(track_of(t.number), [&](proto_message& d) {
            d.number(field::parent, process_track);
            d.message(field::thread, [&](proto_message& m) {
                m.number(field::thread_pid, static_cast<std::uint64_t>(pid_));
                m.number(field::thread_tid, static_cast<std::uint64_t>(t.tid));
                m.bytes(field::thread_name, t.name);
            });
        });
    }

    struct nothing {
        void operator()(proto_message& /*event*/) const noexcept {}
    };
    // `category`, `name`: 0: none.
    template <class F = nothing>
    void event(std::int64_t time, unsigned thread, event_type type, std::uint64_t category, std::uint64_t name,
               const F& fill) {
        packet(time, [&](proto_message& p) {
            p.number(field::sequence_flags, needs_incremental_state);
            p.message(field::track_event, [&](proto_message& e) {
                e.number(field::type, type);
                e.number(field::track, track_of(thread));
                if (category != 0) e.number(field::category_id, category);
                if (name != 0) e.number(field::name_id, name);
                fill(e);
            });
        });
    }
    template <class F>
    void end_slice(const trace_record& r, unsigned thread, unsigned& open, const F& fill) {
        if (open == 0) return; // it has begun before the trace
        --open;
        event(r.time, thread, slice_end, {}, {}, fill);
    }
    // The category is the queue.
    template <class F = nothing>
    void event_of_item(const trace_record& r, unsigned thread, event_type type, std::uint64_t name, const F& fill) {
        event(r.time, thread, type, id_of(categories_, r.name()), name, [&](proto_message& e) {
            annotate(e, "pool", [&](proto_message& a) { a.number(field::number_value, r.pool); });
            annotate_cpu(e, r);
            if (r.item != nullptr) {
                annotate(e, "item", [&](proto_message& a) {
                    a.number(field::pointer_value, reinterpret_cast<std::uintptr_t>(r.item));
                });
            }
            fill(e);
        });
    }
    void event_of_worker(const trace_record& r, unsigned thread, std::string_view name) {
        event(r.time, thread, instant, {}, name_id(name), [&](proto_message& e) {
            annotate(e, "pool", [&](proto_message& a) { a.number(field::number_value, r.pool); });
            annotate(e, "worker", [&](proto_message& a) { a.number(field::number_value, r.worker); });
        });
    }
    template <class F>
    static void annotate(proto_message& e, std::string_view name, const F& value) {
        e.message(field::annotation, [&](proto_message& a) {
            a.bytes(field::annotation_name, name);
            value(a);
        });
    }

    static void annotate_cpu(proto_message& e, const trace_record& r) {
        annotate(e, "cpu", [&](proto_message& a) { a.number(field::number_value, r.cpu); });
    }

    void count(const trace_record& r, int pending, int running) {
        queue_counts& c = counts_of(r.name());
        // Items that were there before the trace are not known.
        if (pending != 0)
            set_counter(r.time, c.pending_track, c.pending = std::max<std::int64_t>(c.pending + pending, 0));
        if (running != 0) {
            set_counter(r.time, c.pending_track + 1, c.running = std::max<std::int64_t>(c.running + running, 0));
        }
    }
    queue_counts& counts_of(std::string_view queue) {
        const auto found = counts_.find(queue);
        return found != counts_.end() ? found->second : counts_.emplace(queue, add_counters(queue)).first->second;
    }
    queue_counts add_counters(std::string_view queue) {
        const std::uint64_t id = first_counter + 2 * counts_.size();
        add_counter(id, std::string(queue) + ": pending");
        add_counter(id + 1, std::string(queue) + ": running");
        return {id};
    }
    void add_counter(std::uint64_t id, std::string_view name) {
        track(id, [&](proto_message& t) {
            t.number(field::parent, process_track);
            t.bytes(field::track_name, name);
            t.message(field::counter, nothing{});
        });
    }
    void set_counter(std::int64_t time, std::uint64_t id, std::int64_t value) {
        packet(time, [&](proto_message& p) {
            p.message(field::track_event, [&](proto_message& e) {
                e.number(field::type, counter);
                e.number(field::track, id);
                e.number(field::counter_value, static_cast<std::uint64_t>(value));
            });
        });
    }

    /// 0: none is known.
    std::uint64_t take_flow(const void* item, std::uint64_t (flows_of_item::*which)() noexcept) {
        const auto found = flows_.find(item);
        if (found == flows_.end()) return 0;
        const std::uint64_t flow = (found->second.*which)();
        if (found->second.first == 0) flows_.erase(found);
        return flow;
    }

    std::uint64_t id_of(text_ids& texts, std::string_view s) {
        if (const auto found = texts.ids.find(s); found != texts.ids.end()) return found->second;
        const std::uint64_t id = texts.ids.size() + 1;
        texts.ids.emplace(s, id);
        proto_message(fresh_).message(texts.kind, [&](proto_message& m) {
            m.number(field::iid, id);
            m.bytes(field::text, s);
        });
        return id;
    }
    std::uint64_t name_id(std::string_view s) { return id_of(names_, s); }
    std::uint64_t name_of(void (*function)(work_base&)) {
        std::uint64_t& id = functions_[function];
        if (id == 0) id = name_id(name_of_function(function));
        return id;
    }
    static std::string_view name_of(block_reason why) noexcept {
        switch (why) {
        case block_reason::announced: return "blocked";
        case block_reason::waiting: return "waits for items";
        case block_reason::sentinel: return "blocked, as the sentinel has found";
        case block_reason::monitor: break;
        }
        return "blocked, as the monitor has found";
    }

    std::string out_;
    std::string fresh_; // the texts that the next packet has to define
    long pid_ = 0;
    text_ids categories_{field::categories}, names_{field::names};
    std::unordered_map<void (*)(work_base&), std::uint64_t> functions_;
    std::unordered_map<const void*, flows_of_item> flows_; // of each item that is pending
    by_text<queue_counts> counts_;
    std::unordered_set<unsigned> threads_;               // that have a track
    std::unordered_map<unsigned, unsigned> open_slices_; // of each thread
    std::uint64_t last_flow_ = 0;
};

}}} // namespace cmwq::CMWQ_NS::detail
