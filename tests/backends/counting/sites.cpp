// SPDX-License-Identifier: BSL-1.0
#include <counting/scheduler.hpp>
#include <counting/sites.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail::counting {

namespace {

/// "ledger/item_pool.ipp:42" instead of the whole path. Empty for places that say nothing: the standard library, and
/// the class atomic.
std::string short_place(const std::string& line) {
    const std::string text = line.substr(0, line.find(" ("));
    for (const char* const skip : {"/c++/", "base/atomic.hpp", "??"}) {
        if (text.find(skip) != std::string::npos) return {};
    }
    const auto last = text.rfind('/');
    const auto before = last == std::string::npos || last == 0 ? last : text.rfind('/', last - 1);
    return before == std::string::npos ? text : text.substr(before + 1);
}

/// Whether the place belongs to a class that the engine uses everywhere, so that its user is of interest as well.
bool is_tool(const std::string& place) {
    for (const char* const folder : {"sync/", "ds/", "base/"}) {
        if (place.rfind(folder, 0) == 0) return true;
    }
    return false;
}

std::string in_hex(std::uintptr_t n) {
    std::ostringstream text;
    text << "0x" << std::hex << n;
    return text.str();
}

/// For each address in the program, the places of the functions that were inlined there, innermost first, by one call
/// of addr2line.
std::map<std::uintptr_t, std::vector<std::string>> places_of(const std::set<std::uintptr_t>& addresses) {
    std::map<std::uintptr_t, std::vector<std::string>> result;
    std::string command = "addr2line -a -i -e /proc/" + std::to_string(::getpid()) + "/exe";
    for (const std::uintptr_t address : addresses) command += ' ' + in_hex(address);
    const auto close = [](FILE* f) { ::pclose(f); };
    const std::unique_ptr<FILE, decltype(close)> output(::popen((command + " 2>/dev/null").c_str(), "r"), close);
    if (output == nullptr) return result;
    char buffer[4096];
    std::vector<std::string>* to = nullptr;
    while (std::fgets(buffer, sizeof buffer, output.get()) != nullptr) {
        std::string line(buffer);
        if (!line.empty() && line.back() == '\n') line.pop_back();
        if (line.rfind("0x", 0) == 0) {
            to = &result[std::strtoull(line.c_str(), nullptr, 16)];
        } else if (const std::string place = short_place(line); to != nullptr && !place.empty()) {
            to->push_back(place);
        }
    }
    return result;
}

} // namespace

std::vector<site> top_sites(std::size_t n) {
    const scheduler* const s = scheduler::last();
    if (s == nullptr) return {};
    Dl_info program{};
    ::dladdr(reinterpret_cast<const void*>(&top_sites), &program);
    const auto base = reinterpret_cast<std::uintptr_t>(program.dli_fbase);
    // One byte before the return address, which may belong to the next statement.
    const auto in_program = [base](const void* code) { return reinterpret_cast<std::uintptr_t>(code) - 1 - base; };
    std::set<std::uintptr_t> addresses;
    for (const auto& [key, c] : s->sites()) {
        for (const void* code : key.code)
            if (code != nullptr) addresses.insert(in_program(code));
    }
    auto places = places_of(addresses);

    std::map<std::pair<std::string, phase>, site> by_place;
    for (const auto& [key, c] : s->sites()) {
        std::string text, user;
        for (const void* code : key.code) {
            if (code == nullptr) break;
            for (const std::string& place : places[in_program(code)]) {
                if (text.empty()) text = place;
                user = place;
                if (!is_tool(user)) break;
            }
            if (!user.empty() && !is_tool(user)) break;
        }
        if (text.empty()) text = '+' + in_hex(in_program(key.code[0]));
        else if (user != text) text += " < " + user;
        site& to = by_place[{text, key.in}];
        to.in = key.in;
        to.place = text;
        to.transfers += c.transfers;
        to.locked += c.locked;
        to.lock_waits += c.lock_waits;
        to.lines += c.lines;
    }
    std::vector<site> all;
    for (auto& [place, its] : by_place) all.push_back(std::move(its));
    const auto more_by = [](std::uint64_t site::* count) {
        return [count](const site& a, const site& b) {
            return a.*count != b.*count ? a.*count > b.*count : std::tie(a.place, a.in) < std::tie(b.place, b.in);
        };
    };
    std::ranges::sort(all, more_by(&site::transfers));
    std::sort(all.begin() + static_cast<std::ptrdiff_t>(std::min(n, all.size())), all.end(), more_by(&site::locked));
    all.resize(std::min(2 * n, all.size()));
    return all;
}

}}} // namespace cmwq::CMWQ_NS::detail::counting
