// SPDX-License-Identifier: BSL-1.0
//
// Reads traces in the format of Perfetto, as far as the library writes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cmwq_test {

/// Calls `f(unsigned field, std::uint64_t number, std::string_view bytes)` for each field of a message. Throws
/// std::runtime_error if it is none.
template <class F>
void for_each_field(std::string_view message, const F& f) {
    const auto take = [&message](std::size_t n) {
        if (n > message.size()) throw std::runtime_error("a message ends too soon");
        const std::string_view taken = message.substr(0, n);
        message.remove_prefix(n);
        return taken;
    };
    const auto varint = [&take] {
        std::uint64_t v = 0;
        for (unsigned shift = 0; shift < 64; shift += 7) {
            const auto byte = static_cast<unsigned char>(take(1)[0]);
            v |= std::uint64_t{byte & 0x7fu} << shift;
            if (byte < 0x80) return v;
        }
        throw std::runtime_error("a number does not end");
    };
    while (!message.empty()) {
        const std::uint64_t key = varint();
        const auto field = static_cast<unsigned>(key >> 3);
        std::uint64_t number = 0;
        switch (key & 7) {
        case 0: f(field, varint(), std::string_view{}); break;
        case 1:
            for (unsigned i = 0; i < 64; i += 8) number |= std::uint64_t{static_cast<unsigned char>(take(1)[0])} << i;
            f(field, number, std::string_view{});
            break;
        case 2: f(field, number, take(varint())); break;
        default: throw std::runtime_error("a field has an unknown type");
        }
    }
}

/// What a file says.
class perfetto_trace {
public:
    enum type : unsigned { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };
    struct track {
        std::string name;
        std::uint64_t parent = 0, tid = 0;
    };
    struct event {
        std::uint64_t time = 0;
        unsigned what = 0;
        std::uint64_t on = 0; ///< the id of its track
        std::string name = {}, category = {};
        std::uint64_t flow = 0, last_of_flow = 0;
        std::uint64_t value = 0; ///< of a counter
        std::map<std::string, std::string> annotations = {};
    };

    explicit perfetto_trace(std::string_view bytes) {
        for_each_field(bytes, [this](unsigned field, std::uint64_t, std::string_view packet) {
            if (field == 1) read_packet(packet);
        });
        std::ranges::stable_sort(events, {}, &event::time);
    }
    static perfetto_trace of_file(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return perfetto_trace(std::string(std::istreambuf_iterator<char>(file), {}));
    }

    /// The slices and instants of a track: "[NAME" begins a slice, "]" ends one, and an instant has only a name.
    [[nodiscard]] std::string story(std::uint64_t on) const {
        std::string s;
        for (const event& e : events) {
            if (e.on != on || e.what == counter) continue;
            s += (s.empty() ? "" : ", ") + (e.what == slice_begin ? "[" + e.name : e.what == slice_end ? "]" : e.name);
        }
        return s;
    }
    /// The values of a counter, with blanks in between.
    [[nodiscard]] std::string values(const std::string& name) const {
        std::string s;
        for (const event& e : events) {
            if (e.what == counter && tracks.at(e.on).name == name)
                s += (s.empty() ? "" : " ") + std::to_string(e.value);
        }
        return s;
    }
    [[nodiscard]] std::vector<event> named(std::string_view name) const {
        std::vector<event> found;
        std::ranges::copy_if(events, std::back_inserter(found), [name](const event& e) { return e.name == name; });
        return found;
    }

    std::map<std::uint64_t, track> tracks; ///< by their ids
    std::vector<event> events;             ///< in the order of their times
    std::uint64_t monotonic = 0, realtime = 0;

private:
    void read_packet(std::string_view packet) {
        event e;
        bool is_event = false;
        for_each_field(packet, [&](unsigned field, std::uint64_t number, std::string_view bytes) {
            switch (field) {
            case 6: read_clocks(bytes); break;
            case 8: e.time = number; break;
            case 11:
                is_event = true;
                read_event(bytes, e);
                break;
            case 12: read_texts(bytes); break;
            case 60: read_track(bytes); break;
            default: break;
            }
        });
        if (is_event) events.push_back(e);
    }
    void read_clocks(std::string_view snapshot) {
        for_each_field(snapshot, [&](unsigned field, std::uint64_t, std::string_view clock) {
            std::map<unsigned, std::uint64_t> of;
            if (field != 1) return;
            for_each_field(clock, [&](unsigned f, std::uint64_t number, std::string_view) { of[f] = number; });
            (of[1] == 3 ? monotonic : realtime) = of[2];
        });
    }
    void read_texts(std::string_view data) {
        for_each_field(data, [&](unsigned kind, std::uint64_t, std::string_view member) {
            std::uint64_t id = 0;
            std::string text;
            for_each_field(member, [&](unsigned f, std::uint64_t number, std::string_view bytes) {
                if (f == 1) id = number;
                else text = bytes;
            });
            texts_[kind][id] = text;
        });
    }
    void read_track(std::string_view descriptor) {
        std::uint64_t id = 0;
        track t;
        for_each_field(descriptor, [&](unsigned field, std::uint64_t number, std::string_view bytes) {
            if (field == 1) id = number;
            else if (field == 2) t.name = bytes;
            else if (field == 5) t.parent = number;
            else if (field == 3 || field == 4) {
                for_each_field(bytes, [&](unsigned f, std::uint64_t n, std::string_view b) {
                    if (!b.empty()) t.name = b;
                    else if (f == 2) t.tid = n;
                });
            }
        });
        tracks[id] = t;
    }
    void read_event(std::string_view bytes, event& e) {
        for_each_field(bytes, [&](unsigned field, std::uint64_t number, std::string_view b) {
            switch (field) {
            case 3: e.category = texts_[1].at(number); break;
            case 4: read_annotation(b, e); break;
            case 9: e.what = static_cast<unsigned>(number); break;
            case 10: e.name = texts_[2].at(number); break;
            case 11: e.on = number; break;
            case 30: e.value = number; break;
            case 47: e.flow = number; break;
            case 48: e.last_of_flow = number; break;
            default: throw std::runtime_error("an event has an unknown field");
            }
        });
    }
    static void read_annotation(std::string_view bytes, event& e) {
        std::string name, value;
        for_each_field(bytes, [&](unsigned field, std::uint64_t number, std::string_view b) {
            if (field == 10) name = b;
            else value = field == 6 ? std::string(b) : std::to_string(number);
        });
        e.annotations[name] = value;
    }

    std::map<unsigned, std::map<std::uint64_t, std::string>> texts_; // by their kinds and ids
};

} // namespace cmwq_test
