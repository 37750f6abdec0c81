// SPDX-License-Identifier: BSL-1.0
//
// control_socket: lets the user of a program look into a runtime, and change it, from another process. A program that
// includes this header also has the option `control` of a runtime. The only header that needs nlohmann-json;
// <cmwq/cmwq.hpp> does not include it.
#pragma once

#include <cmwq/detail/control/shared_server.hpp>
#include <cmwq/detail/engine/runtime/ends_at_exit.hpp>
#include <cmwq/detail/engine/runtime/wanted_leaves.hpp>
#include <cmwq/runtime.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

namespace cmwq { inline namespace CMWQ_NS {

/// Where a control socket is.
struct control_options {
    /// The folder of the socket; it must exist, and nobody but the user and root may write to it. Empty:
    /// $XDG_RUNTIME_DIR/cmwq, /run/user/UID/cmwq, or /tmp/cmwq-UID, which nobody else can enter.
    std::string folder = {};
};

/// Answers processes of the same user, and of root, as long as it exists: what a runtime does, and changes of the
/// attributes of its exported queues and of its thresholds. The tool `cmwq` asks; docs/dev/control_protocol.md
/// describes the requests.
///
///     cmwq::control_socket control{cmwq::runtime::global()};
///
/// Nobody else is answered. Clients get a tenth of one CPU at most, where no answer takes longer than 0.1 s, and a part
/// of the memory for sixteen answers; those that are slow, or send nonsense, are dropped. A forked child does not keep
/// the socket.
///
/// Thread safety: any thread may call the members.
class control_socket {
public:
    /// The runtime must outlive it. A thread is made, and a socket PID.N of mode 0600, where N is the number of the
    /// runtime in the process; those of processes that were killed are removed. If the runtime has a control socket in
    /// this folder already, by its option `control` perhaps, both are the same one, which ends with the last object.
    /// Errors: std::system_error if the system refuses one of them, or if others may write to the folder,
    /// std::bad_alloc.
    explicit control_socket(runtime& rt, const control_options& options = {})
        : server_(detail::shared_server::join(rt, options.folder)) {}
    /// Removes the socket, if no other object wants it. Blocks: for an answer in progress.
    ~control_socket() { detail::shared_server::leave(server_); }
    control_socket(const control_socket&) = delete;
    control_socket& operator=(const control_socket&) = delete;

    /// The path of the socket.
    [[nodiscard]] const std::string& path() const noexcept { return server_.path(); }

private:
    detail::shared_server& server_;
};

namespace detail {

/// One object for each runtime whose options want it.
class control_by_option final : public wanted_control {
public:
    explicit control_by_option(runtime& rt) {
        try {
            socket_.emplace(rt);
        } catch (const std::system_error& e) {
            std::fprintf(stderr, "%s\n", e.what());
        }
    }
    void end_at_exit() noexcept { socket_.reset(); }

private:
    std::optional<control_socket> socket_;
};

[[gnu::weak]] std::unique_ptr<wanted_control> make_wanted_control(runtime& rt, made_for whom) {
    auto made = std::make_unique<control_by_option>(rt);
    if (whom == made_for::process) ends_at_exit<control_by_option>::arm(*made);
    return made;
}

} // namespace detail

}} // namespace cmwq::CMWQ_NS
