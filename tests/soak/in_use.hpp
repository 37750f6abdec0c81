// SPDX-License-Identifier: BSL-1.0
//
// Prevents the replacement of an object that other threads use. No thread waits here: if enter() or close() fails, the
// caller does something else.
#pragma once

#include <atomic>

namespace soak {

class in_use {
public:
    [[nodiscard]] bool enter() {
        int n = nr_.load(std::memory_order_relaxed);
        while (n >= 0) {
            if (nr_.compare_exchange_weak(n, n + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
        }
        return false;
    }
    void leave() { nr_.fetch_sub(1, std::memory_order_release); }

    /// True: no thread is inside, and no thread can enter until `open()`.
    [[nodiscard]] bool close() {
        int nobody = 0;
        return nr_.compare_exchange_strong(nobody, -1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void open() { nr_.store(0, std::memory_order_release); }

private:
    std::atomic<int> nr_{0};
};

/// Enters and leaves. False: the thread could not enter.
class visit {
public:
    explicit visit(in_use& u) : u_(u.enter() ? &u : nullptr) {}
    ~visit() {
        if (u_ != nullptr) u_->leave();
    }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
    explicit operator bool() const { return u_ != nullptr; }

private:
    in_use* u_;
};

/// Closes and opens. False: another thread is inside.
class alone {
public:
    explicit alone(in_use& u) : u_(u.close() ? &u : nullptr) {}
    ~alone() {
        if (u_ != nullptr) u_->open();
    }
    alone(const alone&) = delete;
    alone& operator=(const alone&) = delete;
    explicit operator bool() const { return u_ != nullptr; }

private:
    in_use* u_;
};

} // namespace soak
