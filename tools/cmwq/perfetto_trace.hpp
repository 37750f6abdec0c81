// SPDX-License-Identifier: BSL-1.0
//
// perfetto_trace: what a trace in the format of Perfetto says, as far as the library writes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmwq_tool {

/// Takes a number from the beginning. None: it does not end there.
inline std::optional<std::uint64_t> take_number(std::string_view& from) {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && !from.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(from.front());
        from.remove_prefix(1);
        v |= std::uint64_t{byte & 0x7fu} << shift;
        if (byte < 0x80) return v;
    }
    return std::nullopt;
}

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
    const auto varint = [&message] {
        const std::optional<std::uint64_t> v = take_number(message);
        if (!v.has_value()) throw std::runtime_error("a number does not end");
        return *v;
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

class perfetto_trace {
public:
    enum type : unsigned { slice_begin = 1, slice_end = 2, instant = 3, counter = 4 };
    struct track {
        std::string name = {};
        std::uint64_t parent = 0, pid = 0, tid = 0; ///< 0: it has none
    };
    struct event {
        std::uint64_t time = 0; ///< nanoseconds of CLOCK_MONOTONIC
        unsigned what = 0;
        std::uint64_t on = 0; ///< the id of its track
        std::string_view name = {}, category = {};
        std::uint64_t flow = 0, last_of_flow = 0;
        std::uint64_t value = 0;     ///< of a counter
        std::string_view bytes = {}; ///< the message, which has its annotations

        /// A number has its digits. Empty: it has no such annotation.
        [[nodiscard]] std::string annotation(std::string_view name_of_it) const {
            std::string found;
            for_each_field(bytes, [&](unsigned field, std::uint64_t, std::string_view b) {
                if (field != 4) return;
                std::string_view n;
                std::string value_of_it;
                for_each_field(b, [&](unsigned f, std::uint64_t number, std::string_view text) {
                    if (f == 10) n = text;
                    else value_of_it = f == 6 ? std::string(text) : std::to_string(number);
                });
                if (n == name_of_it) found = value_of_it;
            });
            return found;
        }
    };

    /// Of a file that was not written to its end, it has what is complete. Throws std::runtime_error if the bytes are
    /// no such trace.
    explicit perfetto_trace(std::string bytes) : bytes_(std::make_shared<const std::string>(std::move(bytes))) {
        read_packets();
        if (tracks.empty()) throw std::runtime_error("it is no trace of Perfetto, or has no beginning");
        // Those of one time in the order of the file.
        std::ranges::sort(events, {}, [](const event& e) { return std::pair(e.time, e.bytes.data()); });
    }
    /// Also if it cannot be read.
    static perfetto_trace of_file(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        if (!file) throw std::runtime_error("the file cannot be read");
        return perfetto_trace(std::string(std::istreambuf_iterator<char>(file), {}));
    }

    std::map<std::uint64_t, track> tracks = {}; ///< by their ids
    std::vector<event> events = {};             ///< in the order of their times
    std::uint64_t monotonic = 0, realtime = 0;  ///< both clocks at one moment
    bool is_cut = false;

private:
    // The outermost message is read by hand, because it may end in the middle of a packet.
    void read_packets() {
        std::string_view rest = *bytes_;
        while (!rest.empty()) {
            if (rest[0] != '\x0a') return; // nobody knows what follows
            std::string_view packet = rest.substr(1);
            const std::optional<std::uint64_t> size = take_number(packet);
            is_cut = !size.has_value() || *size > packet.size();
            if (is_cut) return;
            read_packet(packet.substr(0, *size));
            rest = packet.substr(*size);
        }
    }
    void read_packet(std::string_view packet) {
        event e;
        bool is_event = false;
        for_each_field(packet, [&](unsigned field, std::uint64_t number, std::string_view bytes) {
            switch (field) {
            case 6: read_clocks(bytes); break;
            case 8: e.time = number; break;
            case 11:
                is_event = true;
                e.bytes = bytes;
                break;
            case 12: read_texts(bytes); break;
            case 60: read_track(bytes); break;
            default: break;
            }
        });
        if (!is_event) return;
        read_event(e);
        events.push_back(e);
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
            std::string_view text;
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
                    else if (f == 1) t.pid = n;
                    else if (f == 2) t.tid = n;
                });
            }
        });
        tracks[id] = t;
    }
    void read_event(event& e) {
        for_each_field(e.bytes, [&](unsigned field, std::uint64_t number, std::string_view) {
            switch (field) {
            case 3: e.category = texts_[1][number]; break;
            case 9: e.what = static_cast<unsigned>(number); break;
            case 10: e.name = texts_[2][number]; break;
            case 11: e.on = number; break;
            case 30: e.value = number; break;
            case 47: e.flow = number; break;
            case 48: e.last_of_flow = number; break;
            default: break;
            }
        });
    }

    std::shared_ptr<const std::string> bytes_;                            // to which the events refer
    std::map<unsigned, std::map<std::uint64_t, std::string_view>> texts_; // by their kinds and ids
};

} // namespace cmwq_tool
