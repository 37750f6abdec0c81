// SPDX-License-Identifier: BSL-1.0
//
// A lock of the library that another thread holds as long as the object lives.
#pragma once

#include <semaphore>
#include <thread>

namespace cmwq_test {

/// Another thread holds a lock during the lifetime of this object.
class held_elsewhere {
public:
    /// `with_lock(f)` calls f under the lock.
    template <class F>
    explicit held_elsewhere(F with_lock)
        : thread_([this, with_lock] {
              with_lock([this] {
                  locked_.release();
                  unlock_.acquire();
              });
          }) {
        locked_.acquire();
    }
    ~held_elsewhere() {
        unlock_.release();
        thread_.join();
    }
    held_elsewhere(const held_elsewhere&) = delete;
    held_elsewhere& operator=(const held_elsewhere&) = delete;

private:
    std::binary_semaphore locked_{0}, unlock_{0};
    std::thread thread_;
};

} // namespace cmwq_test
