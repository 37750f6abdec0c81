// SPDX-License-Identifier: BSL-1.0
//
// shared_server: the server of one runtime in one folder, for all objects that want it.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/control/control_server.hpp>
#include <cmwq/detail/engine/api/runtime_access.hpp>
#include <cmwq/detail/engine/env/directory.hpp>
#include <cmwq/detail/os/local_socket.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/system.hpp>
#include <cmwq/runtime.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// The option of a runtime and the program itself may both want a control socket: they share it, and the last one ends
/// it. Any thread may call the members.
///
/// Letters: I set by the constructor · L the lock of all servers
class shared_server {
public:
    /// Makes the server, if there is none yet. `folder`: empty: that of the user. Throws std::system_error,
    /// std::bad_alloc. Each call needs a leave().
    [[nodiscard]] static shared_server& join(runtime& rt, std::string folder) {
        hook_forks();
        if (!folder.empty()) check_folder(os::check_folder(folder), folder, "others may write to the folder");
        else check_folder(os::folder_for_sockets(folder), folder, "others may enter the folder");
        folder = absolute_path(folder);
        os::file_id id;
        check(os::identify(folder, id), folder);
        os::remove_abandoned(folder);
        const std::uint64_t first_pool = runtime_access::core_of(rt).pools().id();
        const scoped_lock g(lock());
        for (shared_server* s = first_; s != nullptr; s = s->next_) {
            if (s->nr_users_ == 0 || s->runtime_ != first_pool || s->folder_ != id) continue;
            ++s->nr_users_;
            return *s;
        }
        std::unique_ptr<shared_server> fresh(new shared_server(rt, first_pool, folder, id));
        fresh->serve();
        fresh->next_ = first_;
        return *(first_ = fresh.release());
    }
    /// Blocks: for an answer in progress, if it is the last one.
    static void leave(shared_server& s) noexcept {
        const bool is_ours = main_thread_id() == s.process_; // else this is a forked child
        {
            const scoped_lock g(lock());
            if (--s.nr_users_ != 0) return;
            if (is_ours) static_cast<void>(std::remove(s.path_.c_str()));
        }
        if (is_ours) s.end();
        else s.server_.forget();
        delete &s;
    }
    shared_server(const shared_server&) = delete;
    shared_server& operator=(const shared_server&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    friend std::default_delete<shared_server>;

    static constexpr mutex& lock() noexcept { return control_server::lock_for_fork; }

    shared_server(runtime& rt, std::uint64_t first_pool, const std::string& folder, os::file_id id)
        : runtime_(first_pool), folder_(id),
          path_(folder + '/' + std::to_string(process_) + '.' + std::to_string(directory::get().number_of(first_pool))),
          server_(rt) {}
    ~shared_server() = default;

    static void check(int error, const std::string& path) {
        if (error != 0) throw std::system_error(error, std::generic_category(), "cmwq::control_socket: " + path);
    }

    static void check_folder(int error, const std::string& folder, const char* if_open) {
        check(error, error == EACCES ? folder + ": " + if_open : folder);
    }

    void serve() {
        os::descriptor listener;
        check(os::listen_at(path_, listener), path_);
        if (const int error = server_.start(std::move(listener)); error != 0) {
            static_cast<void>(std::remove(path_.c_str()));
            check(error, path_);
        }
    }
    // It stays in the list until its descriptors are closed: a child that is forked meanwhile closes them as well.
    void end() noexcept {
        server_.end();
        const scoped_lock g(lock());
        server_.close_locked();
        shared_server** link = &first_;
        while (*link != this) link = &(*link)->next_;
        *link = next_;
    }

    // A child that kept the sockets would keep the clients of its parent waiting, and seem to listen in its place.
    static void hook_forks() noexcept {
        static constinit atomic<bool> hooked{false};
        if (!hooked.exchange(true, relaxed)) at_fork(&before_fork, &after_fork_in_parent, &after_fork_in_child);
    }
    static void before_fork() noexcept CMWQ_NO_TSA { lock().lock(); }
    static void after_fork_in_parent() noexcept CMWQ_NO_TSA { lock().unlock(); }
    static void after_fork_in_child() noexcept CMWQ_NO_TSA {
        for (shared_server* s = std::exchange(first_, nullptr); s != nullptr; s = s->next_) s->server_.close_locked();
        lock().unlock();
    }

    static constinit inline shared_server* first_ = nullptr; // L: of those of this process

    const long process_ = main_thread_id();
    const std::uint64_t runtime_;   // I: the id of its first pool
    const os::file_id folder_;      // I
    const std::string path_;        // I
    unsigned nr_users_ = 1;         // L
    shared_server* next_ = nullptr; // L
    control_server server_;
};

}}} // namespace cmwq::CMWQ_NS::detail
