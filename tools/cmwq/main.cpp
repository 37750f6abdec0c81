// SPDX-License-Identifier: BSL-1.0
//
// cmwq: looks into programs that use the library, and changes their queues. cmwq(1) is its manual.
#include "client.hpp"
#include "doctor.hpp"
#include "failure.hpp"
#include "monitor.hpp"
#include "sockets.hpp"
#include "table.hpp"
#include "top.hpp"
#include "trace.hpp"

#include <cmwq/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace cmwq_tool;

/// A row of `list`; none: the process has ended.
std::vector<std::string> row_of(const socket_file& s, double patience) {
    const std::string process = std::to_string(s.pid) + '.' + std::to_string(s.number);
    const auto without = [&](const std::string& why) {
        return std::vector<std::string>{process, '(' + why + ')', "-", "-", "-", "-"};
    };
    try {
        client c(s.path, patience);
        const json hello = c.ask({{"do", "hello"}});
        const json attributes = c.ask({{"do", "get"}});
        const json queues = c.ask({{"do", "queues"}});
        const json& locked = queues.at("locked");
        std::string exported;
        for (const json& name : attributes.at("exported")) add_to_list(exported, text_of(name));
        return {process,
                text_of(hello.at("program")),
                text_of(hello.at("runtime")),
                locked.is_null() ? "?" : std::to_string(queues.at("queues").size() + locked.size()),
                exported.empty() ? "-" : exported,
                text_of(hello.at("version"))};
    } catch (const no_answer&) {
        return without("does not answer");
    } catch (const failure& e) {
        if (e.code == status::refused) return without(e.what());
        return {};
    } catch (const json::exception&) {
        return without("is of another version");
    }
}

void list(const std::string& folder, double patience) {
    using enum table::align;
    table t({{"PROCESS", right},
             {"PROGRAM", left},
             {"RUNTIME", left},
             {"QUEUES", right},
             {"EXPORTED", left},
             {"VERSION", left}});
    std::vector<std::future<std::vector<std::string>>> rows; // at once: those that do not answer must not add up
    for (const socket_file& s : find_sockets(folder))
        rows.push_back(std::async(std::launch::async, row_of, s, patience));
    for (auto& row : rows) {
        if (std::vector<std::string> cells = row.get(); !cells.empty()) t.add(std::move(cells));
    }
    if (t.empty()) throw failure(status::nobody, std::string("there is no process: ") + no_socket);
    std::fputs(t.text().c_str(), stdout);
}

void print_attributes(const json& answer) {
    for (const auto& [name, value] : answer.at("attributes").items())
        std::printf("%s=%s\n", printable(name).c_str(), printable(text_of(value)).c_str());
}

/// Whether `get PROCESS WORD` means an attribute of the runtime. A queue of that name comes first.
bool is_of_runtime(client& to, const std::string& word) {
    const json answer = to.ask({{"do", "get"}});
    const json& queues = answer.at("exported");
    return answer.at("attributes").contains(word) && std::ranges::find(queues, json(word)) == queues.end();
}

void get(client& to, std::string queue, std::string attribute) {
    if (attribute.empty() && !queue.empty() && is_of_runtime(to, queue)) std::swap(queue, attribute);
    json request{{"do", "get"}};
    if (!queue.empty()) request["queue"] = queue;
    const json answer = to.ask(request);
    if (attribute.empty()) {
        print_attributes(answer);
        if (queue.empty()) {
            for (const json& name : answer.at("exported")) std::printf("queue=%s\n", printable(text_of(name)).c_str());
        }
        return;
    }
    const auto found = answer.at("attributes").find(attribute);
    if (found == answer.at("attributes").end())
        throw failure(status::refused, "there is no attribute '" + attribute + "'");
    std::printf("%s\n", printable(text_of(*found)).c_str());
}

/// `words`: [QUEUE] ATTRIBUTE=VALUE...
void set(client& to, std::vector<std::string> words) {
    std::string queue;
    if (words.front().find('=') == std::string::npos) {
        queue = words.front();
        words.erase(words.begin());
    }
    if (words.empty()) throw failure(status::usage, "what is to be set? ATTRIBUTE=VALUE is missing");
    for (const std::string& w : words) {
        if (w.find('=') == std::string::npos) throw failure(status::usage, "'" + w + "' is no ATTRIBUTE=VALUE");
    }
    json answer;
    std::string done; // what was refused does not take back what came before
    for (const std::string& w : words) {
        const std::size_t equals = w.find('=');
        json request{{"do", "set"}, {"attribute", w.substr(0, equals)}, {"value", w.substr(equals + 1)}};
        if (!queue.empty()) request["queue"] = queue;
        try {
            answer = to.ask(request);
        } catch (const failure& e) {
            if (done.empty()) throw;
            throw failure(e.code, done + " was set; " + e.what());
        }
        add_to_list(done, w);
    }
    print_attributes(answer);
}

status stalls(client& to, const std::string& at_least) {
    const std::string text = to.text_of({{"do", "stalls"}, {"at_least", at_least}});
    std::fputs(printable(text, keep_lines::yes).c_str(), stdout);
    return text.empty() ? status::good : status::findings;
}

/// Programs that read them have rules of their own for what names may contain.
void print_metrics(client& to) {
    const std::string text = to.text_of({{"do", "metrics"}});
    std::fputs((::isatty(STDOUT_FILENO) != 0 ? printable(text, keep_lines::yes) : text).c_str(), stdout);
}

status print(const std::vector<diagnosis>& found) {
    const bool colored = ::isatty(STDOUT_FILENO) != 0 && std::getenv("NO_COLOR") == nullptr;
    status result = status::good;
    for (const diagnosis& d : found) {
        const bool good = d.verdict == diagnosis::level::good;
        if (!good) result = status::findings;
        const char* const color = !colored ? "" : good ? "\033[32m" : "\033[33m";
        std::printf("%s%-9s%s%s\n", color, good ? "ok" : "degraded", colored ? "\033[0m" : "",
                    printable(d.what).c_str());
        if (!good && !d.remedy.empty()) std::printf("%-9s%s\n", "", d.remedy.c_str());
    }
    return result;
}

/// Of options. The limit keeps it far from what a clock can count.
const CLI::Validator is_time( // NOLINT(cert-err58-cpp)
    [](const std::string& text) {
        double seconds = 0;
        const bool good = CLI::detail::lexical_cast(text, seconds) && seconds >= 0.001 && seconds <= 86'400;
        return good ? std::string() : "'" + text + "' is no time: it is 0.001 to 86400 seconds";
    },
    "");

int run(int argc, char** argv) {
    CLI::App app{"Looks into programs that use the library cmwq, and changes their queues.\n"
                 "A program answers if it has a cmwq::control_socket, or was started with CMWQ=control=1.",
                 "cmwq"};
    app.set_version_flag("--version", std::to_string(CMWQ_VERSION_MAJOR) + '.' + std::to_string(CMWQ_VERSION_MINOR) +
                                          '.' + std::to_string(CMWQ_VERSION_PATCH));
    app.require_subcommand(1);
    app.footer("PROCESS is a process number, or PID.N if the process has several runtimes; `cmwq list` shows them.\n"
               "Exit status: 0; 1: stalls or doctor has found something; 2: wrong arguments; 3: no process answers;\n"
               "4: the process refuses the request, or its answer lacks something.");
    std::string folder, process, queue, attribute, at_least = "1s";
    std::optional<double> timeout;
    app.add_option("--folder", folder, "Where the sockets are, if the program does not use the user's folder");
    app.add_option("--timeout", timeout, "Seconds that a process has for an answer [30, list: 1]")->check(is_time);

    const auto command = [&](const char* name, const char* text, bool needs_process = true) {
        CLI::App* const c = app.add_subcommand(name, text);
        if (needs_process) c->add_option("PROCESS", process, "PID or PID.N")->required();
        return c;
    };
    const auto* const c_list = command("list", "The runtimes that answer", false);
    auto* const c_dump = command("dump", "The whole state of a runtime");
    bool as_json = false;
    c_dump->add_flag("--json", as_json, "As one JSON object");
    monitor_options monitored;
    auto* const c_monitor = command("monitor", "The counters of the queues, again and again");
    c_monitor->add_option("QUEUE", monitored.queues, "Names, or patterns as of the shell; none: all");
    c_monitor->add_option("--interval", monitored.interval, "Seconds")->check(is_time)->capture_default_str();
    c_monitor->add_option("--count", monitored.count, "How often; otherwise until the process ends");
    c_monitor->add_flag("--json", monitored.as_json, "A JSON object for each time");
    c_monitor->footer(
        "TOTAL     items that have started\n"
        "INFL      items in flight: started, but not completed\n"
        "PENDING   items that have not started\n"
        "CPUTIME   seconds of CPU time of the completed items\n"
        "CPUITSV   items that kept their CPU for longer than cpu_hog_threshold\n"
        "CMW/RPR   workers that took over from a blocked one (bound), that came back to their pod (unbound,\n"
        "          ordered), or both (elastic)\n"
        "MAYDAY    calls of the rescuer; -: there is none\n"
        "RESCUED   items that the rescuer has run");
    top_options topped;
    auto* const c_top = command("top", "The items that run, and what their threads do");
    c_top->add_option("--interval", topped.interval, "Seconds")->check(is_time)->capture_default_str();
    c_top->add_option("--count", topped.count, "How often; otherwise until the process ends");
    c_top->footer("TID          the thread\n"
                  "%CPU         its CPU time since the last time, in percent of a CPU\n"
                  "POOL         the number of its pool in `cmwq dump`\n"
                  "QUEUE        the queue of the item\n"
                  "ITEM         the address of the item; -: a closure\n"
                  "FUNCTION     the function of the item, or its address for addr2line\n"
                  "STATE        what the thread does: runs, or waits in a system call\n"
                  "DESCRIPTION  what the item has said with this_work::describe()");
    auto* const c_get = command("get", "The attributes of an exported queue, or of the runtime");
    c_get->add_option("QUEUE", queue, "An exported queue, or an attribute of the runtime; none: the runtime");
    c_get->add_option("ATTRIBUTE", attribute, "Only the value of this one");
    std::vector<std::string> words;
    auto* const c_set = command("set", "Changes attributes of an exported queue, or of the runtime");
    c_set->add_option("[QUEUE] ATTRIBUTE=VALUE", words, "max_active=8, affinity_scope=numa, cpumask=0-3, watchdog=10s")
        ->required();
    const auto* const c_metrics = command("metrics", "The numbers of a runtime as OpenMetrics text");
    auto* const c_trace =
        command("trace", "Lets the process write what happens to a file, for Perfetto or a browser", false);
    std::string trace_file;
    bool as_page = false;
    c_trace->add_option("PROCESS", process, "PID or PID.N; with --html also the file of a trace")->required();
    c_trace->add_flag("--html", as_page, "As a page that needs nothing but a browser");
    double trace_seconds = 5;
    c_trace->add_option("--seconds", trace_seconds, "For how long")->check(is_time)->capture_default_str();
    c_trace->add_option("-o,--output", trace_file, "The file, written by the process; cmwq.pftrace, or cmwq.html");
    auto* const c_stalls = command("stalls", "What hangs; exit status 1 if something does");
    c_stalls->add_option("--at-least", at_least, "For how long: a whole number and ns, us, ms, s or min")
        ->capture_default_str();
    auto* const c_doctor = command("doctor", "What this machine, or a process, lacks", false);
    c_doctor->add_option("PROCESS", process, "PID or PID.N; none: this machine");
    double seconds = 1;
    c_doctor->add_option("--seconds", seconds, "How long a process is watched")->check(is_time)->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        if (const std::vector<std::string> rest = app.remaining(); app.get_subcommands().empty() && !rest.empty()) {
            throw failure(status::usage, "there is no " +
                                             std::string(rest.front().starts_with('-') ? "option '" : "command '") +
                                             rest.front() + "'; `cmwq --help` lists them");
        }
        return app.exit(e) == 0 ? 0 : static_cast<int>(status::usage);
    }

    if (c_list->parsed()) return list(folder, timeout.value_or(1)), 0;
    if (c_doctor->parsed() && process.empty()) return static_cast<int>(print(examine_machine()));
    if (as_page && std::filesystem::is_regular_file(process)) {
        if (trace_file.empty()) trace_file = std::filesystem::path(process).replace_extension("html").string();
        return write_page(process, trace_file), 0;
    }
    if (c_trace->parsed() && !is_process(process)) {
        if (std::filesystem::exists(process))
            throw failure(status::usage, "'" + process + "' is a file: --html makes a page of it");
        throw failure(status::usage, "'" + process + "' is neither a process (PID, or PID.N) nor a file");
    }
    const socket_file target = find_socket(process, folder);
    client to(target.path, timeout.value_or(30));
    status result = status::good;
    if (c_dump->parsed() && as_json)
        std::printf("%s\n", to.ask({{"do", "dump"}, {"format", "json"}}).at("dump").dump().c_str());
    else if (c_dump->parsed()) std::fputs(printable(to.text_of({{"do", "dump"}}), keep_lines::yes).c_str(), stdout);
    else if (c_monitor->parsed()) monitor(to, monitored);
    else if (c_top->parsed()) top(to, target.pid, text_of(to.ask({{"do", "hello"}}).at("program")), topped);
    else if (c_get->parsed()) get(to, queue, attribute);
    else if (c_set->parsed()) set(to, words);
    else if (c_metrics->parsed()) print_metrics(to);
    else if (c_trace->parsed()) trace(to, trace_seconds, trace_file, as_page);
    else if (c_stalls->parsed()) result = stalls(to, at_least);
    else result = print(examine_process(to, seconds));
    return static_cast<int>(result);
}

} // namespace

int main(int argc, char** argv) {
    ::unsetenv("CMWQ"); // it is for the program, whose files the tool must not write // NOLINT(concurrency-mt-unsafe)
    const auto fail = [](status s, const std::string& why) {
        std::fprintf(stderr, "cmwq: %s\n", printable(why, keep_lines::yes).c_str());
        return static_cast<int>(s);
    };
    try {
        return run(argc, argv);
    } catch (const failure& e) {
        return fail(e.code, e.what());
    } catch (const json::exception& e) {
        const std::string_view what = e.what(); // "[json.exception.out_of_range.403] key 'x' not found"
        const std::size_t end = what.find("] ");
        return fail(status::refused, "the answer lacks something (" +
                                         std::string(what.substr(end == std::string_view::npos ? 0 : end + 2)) +
                                         "): are the tool and the program of one version?");
    } catch (const std::exception& e) {
        return fail(status::refused, e.what());
    }
}
