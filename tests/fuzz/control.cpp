// SPDX-License-Identifier: BSL-1.0
//
// libFuzzer: any bytes that a client of a control socket sends. Each answer is one line of JSON, and the process goes
// on. clang++ -fsanitize=fuzzer,address; `./scripts/check-all fuzz` runs it.
#include <cmwq/cmwq.hpp>
#include <cmwq/control.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace {

void require(bool good, const std::string& what) {
    if (good) return;
    std::fprintf(stderr, "%s\n", what.c_str());
    std::abort();
}

/// A runtime with queues that clients may change.
struct target {
    cmwq::runtime rt{{.sentinel = false}};
    cmwq::workqueue<> bound{rt, {.name = "b", .exported = true}};
    cmwq::workqueue<cmwq::elastic> elastic{rt, {.name = "e", .exported = true}};
    cmwq::workqueue<cmwq::ordered> ordered{rt, {.name = "o", .exported = true}};
    cmwq::detail::control_commands commands{rt};
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static target& t = *new target; // never destroyed: the process ends in the middle
    cmwq::detail::control_connection c{0};
    std::int64_t now = 0;
    const std::size_t length = size == 0 ? 0 : 1 + std::size_t{data[size - 1]} * 64; // of the parts in which it comes
    while (size != 0) {
        const std::size_t n = std::min(size, length);
        if (c.reads()) {
            c.input().append(reinterpret_cast<const char*>(data), n);
            c.took_input(++now);
        }
        data += n;
        size -= n;
        while (!c.has_output() && c.has_request()) {
            c.answer(t.commands.answer(c.take_request()), ++now);
            const std::string line(c.output());
            require(line.find('\n') == line.size() - 1, "an answer is not one line: " + line);
            require(nlohmann::json::accept(line), "an answer is no JSON: " + line);
            c.sent(line.size(), ++now);
        }
    }
    return 0;
}
