// SPDX-License-Identifier: BSL-1.0
//
// Ends the program when an operation does not end.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace soak {

class watchdog {
public:
    struct rules {
        double patience;          ///< seconds that an operation may take
        bool hold;                ///< do not abort, wait for a debugger
        std::string reproduction; ///< printed at the end
    };
    explicit watchdog(rules r);
    ~watchdog();
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;

    /// While this object lives, the watchdog prints this text too.
    class describes {
    public:
        describes(watchdog& w, std::function<std::string()> text);
        ~describes();
        describes(const describes&) = delete;
        describes& operator=(const describes&) = delete;

    private:
        watchdog& w_;
    };

private:
    void watch();
    void look(double now);
    [[noreturn]] void bark();

    const rules rules_;
    std::mutex lock_;
    std::condition_variable ended_;
    bool end_ = false;
    std::function<std::string()> text_;
    std::thread thread_;
};

} // namespace soak
