// SPDX-License-Identifier: BSL-1.0
//
// control_server: serves the clients of the control socket on a thread of its own.
#pragma once

#include <cmwq/detail/base/atomic.hpp>
#include <cmwq/detail/base/earlier.hpp>
#include <cmwq/detail/control/control_commands.hpp>
#include <cmwq/detail/control/control_connection.hpp>
#include <cmwq/detail/control/cpu_share.hpp>
#include <cmwq/detail/os/local_socket.hpp>
#include <cmwq/detail/sync/clock.hpp>
#include <cmwq/detail/sync/helper_thread.hpp>
#include <cmwq/detail/sync/mutex.hpp>
#include <cmwq/detail/sync/thread.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <list>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// No client makes the process suffer: there are sixteen at most, each may keep one request and one answer in memory,
/// and the thread rests nine times as long as it has worked, a second at most.
///
/// Letters: I set before the thread starts · A atomic · S the thread itself · F the thread itself, under the lock for
/// fork()
class control_server {
public:
    static constexpr std::size_t most_clients = 16;

    explicit control_server(runtime& rt) noexcept : commands_(rt) {}
    control_server(const control_server&) = delete;
    control_server& operator=(const control_server&) = delete;

    /// Serves `listener` from here on. Returns 0, or an errno.
    int start(os::descriptor listener) noexcept {
        listener_ = std::move(listener);
        if (const int error = bell_.open(); error != 0) return error;
        return thread_.start(&control_server::thread_main, this);
    }
    void end() noexcept {
        stop_.store(true, release); // [STOP]
        bell_.ring();
        thread_.join();
    }
    /// In the child of fork(), where the thread does not exist.
    void forget() noexcept { thread_.forget(); }
    /// After end(), or in the child of fork().
    void close_locked() noexcept {
        listener_.reset();
        bell_.close();
        for (client& c : clients_) c.socket.reset();
    }

    /// Of all servers. Held while sockets are opened or closed, and during fork(), so that a child finds all of them.
    /// Nothing waits under it but for the system.
    static constinit inline mutex lock_for_fork;

private:
    struct client {
        os::descriptor socket;
        control_connection talk;
        std::size_t place = 0; // in the list of poll()
        bool gone = false;
    };

    static constexpr std::int64_t second = 1'000'000'000;

    static void thread_main(void* self) { static_cast<control_server*>(self)->serve(); }
    void serve() noexcept {
        become_helper("cmwq/control");
        while (!stop_.load(acquire)) { // [STOP]
            try {
                serve_once();
            } catch (const std::bad_alloc&) {
                drop([](const client&) { return true; }); // that may free enough
                rest_for(second);
            }
            if (const std::int64_t rest = share_.rest_after(thread_cpu_now()); rest != 0) rest_for(rest);
        }
    }

    void serve_once() {
        wait_for_work();
        const std::int64_t now = steady_now();
        if (polled_[1].revents != 0) accept_some(now);
        for (client& c : clients_) {
            if (c.place == 0) continue; // new
            const short events = polled_[c.place].revents;
            if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && !read(c, now)) c.gone = true;
        }
        commands_.pass_time(now);
        answer_one();
        for (client& c : clients_) send(c, steady_now());
        drop([&](const client& c) { return c.gone || c.talk.is_over() || c.talk.deadline() <= now; });
    }
    template <class Which>
    void drop(const Which& which) noexcept {
        if (std::ranges::none_of(clients_, which)) return;
        const scoped_lock g(lock_for_fork);
        std::erase_if(clients_, which);
    }

    // A client that may not be read yet is not polled for input: it would be ready all the time.
    void wait_for_work() {
        const std::int64_t now = steady_now();
        std::int64_t until = now + 60 * second;
        polled_.assign({{.fd = bell_.fd(), .events = POLLIN, .revents = 0},
                        {.fd = now < accepts_at_ ? -1 : listener_.get(), .events = POLLIN, .revents = 0}});
        if (now < accepts_at_) until = std::min(until, accepts_at_);
        if (commands_.due() != 0) until = std::min(until, commands_.due());
        for (client& c : clients_) {
            const int wanted = (c.talk.reads() ? POLLIN : 0) | (c.talk.has_output() ? POLLOUT : 0);
            c.place = polled_.size();
            polled_.push_back(
                {.fd = wanted == 0 ? -1 : c.socket.get(), .events = static_cast<short>(wanted), .revents = 0});
            until = std::min(until, c.talk.deadline());
            if (waits_for_answer(c)) until = now;
        }
        os::wait_for_any(polled_, std::max<std::int64_t>(until - now, 0));
    }
    // Until the time has passed, or the thread has to end.
    void rest_for(std::int64_t ns) noexcept {
        pollfd bell{.fd = bell_.fd(), .events = POLLIN, .revents = 0};
        os::wait_for_any({&bell, 1}, ns);
    }

    void accept_some(std::int64_t now) {
        const scoped_lock g(lock_for_fork);
        for (int n = 0; n < 16; ++n) { // then the others have their turn
            os::descriptor socket;
            const int error = os::accept_from(listener_, socket);
            if (error == EAGAIN) return;
            constexpr std::int64_t pause = 10'000'000;
            if (error != 0) { // no descriptors, perhaps
                accepts_at_ = now + 10 * pause;
                return;
            }
            client c{.socket = std::move(socket), .talk = control_connection(now)};
            if (!os::peer_is_trusted(c.socket)) c.talk.refuse("the process belongs to another user", now);
            else if (clients_.size() >= most_clients) c.talk.refuse("there are too many clients", now);
            if (c.talk.has_output()) {
                send(c, now); // it fits into the buffer of the socket
                accepts_at_ = now + pause;
            } else {
                clients_.push_back(std::move(c));
            }
        }
    }

    // False: the client has gone.
    static bool read(client& c, std::int64_t now) {
        if (!c.talk.reads()) return true;
        const int error = os::receive(c.socket, c.talk.input());
        if (error == 0) c.talk.took_input(now);
        return error == 0 || error == EAGAIN || error == EINTR;
    }

    // The clients take turns.
    void answer_one() {
        const auto c = std::ranges::find_if(clients_, [](const client& one) { return waits_for_answer(one); });
        if (c == clients_.end()) return;
        c->talk.answer(commands_.answer(c->talk.take_request()), steady_now());
        const scoped_lock g(lock_for_fork);
        clients_.splice(clients_.end(), clients_, c);
    }
    static bool waits_for_answer(const client& c) noexcept {
        return !c.gone && !c.talk.has_output() && c.talk.has_request();
    }

    static void send(client& c, std::int64_t now) noexcept {
        while (!c.gone && c.talk.has_output()) {
            std::string_view rest = c.talk.output();
            const std::size_t before = rest.size();
            const int error = os::send_some(c.socket, rest);
            c.talk.sent(before - rest.size(), now);
            if (error == EAGAIN || error == EINTR) return;
            if (error != 0) c.gone = true;
        }
    }

    control_commands commands_;   // S
    os::descriptor listener_;     // I, until close_locked()
    os::poll_bell bell_;          // I, until close_locked()
    atomic<bool> stop_{false};    // A
    std::list<client> clients_;   // F
    std::vector<pollfd> polled_;  // S: the bell, the listener, and the clients
    std::int64_t accepts_at_ = 0; // S: steady clock
    cpu_share share_;             // S
    thread thread_;               // I
};

}}} // namespace cmwq::CMWQ_NS::detail
