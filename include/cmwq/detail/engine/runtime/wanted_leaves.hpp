// SPDX-License-Identifier: BSL-1.0
//
// wanted_traces: what the options `trace` and `flight_recorder` of a runtime want, and how the engine finds the leaf
// that makes it.
#pragma once

#include <cmwq/detail/base/config.hpp>
#include <cmwq/runtime_options.hpp>

#include <memory>
#include <string>

namespace cmwq { inline namespace CMWQ_NS {
class runtime;
}} // namespace cmwq::CMWQ_NS

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

enum class made_for : bool;

/// The options `trace` and `flight_recorder`, or a trace until the object is destroyed. It ends before its runtime
/// does.
class wanted_traces {
public:
    wanted_traces() noexcept = default;
    virtual ~wanted_traces() = default;
    wanted_traces(const wanted_traces&) = delete;
    wanted_traces& operator=(const wanted_traces&) = delete;

    /// False: there is no flight recorder. Throws std::system_error if the file cannot be written.
    virtual bool snapshot(const std::string& path) = 0;
};

/// The option `control`. It ends before its runtime does.
class wanted_control {
public:
    wanted_control() noexcept = default;
    virtual ~wanted_control() = default;
    wanted_control(const wanted_control&) = delete;
    wanted_control& operator=(const wanted_control&) = delete;
};

/// `failure`: gets an errno before the trace has ended if it cannot be written. Throws as the constructor of
/// cmwq::tracer.
[[gnu::weak]] std::unique_ptr<wanted_traces> make_trace(runtime& rt, const std::string& path, int& failure);
/// Throw std::bad_alloc; other failures are printed.
[[gnu::weak]] std::unique_ptr<wanted_traces> make_wanted_traces(runtime& rt, const runtime_options& o, made_for whom);
[[gnu::weak]] std::unique_ptr<wanted_control> make_wanted_control(runtime& rt, made_for whom);

/// Whether the program contains the header that defines one of these. Compared in place, g++ would warn of a comparison
/// that is always true, where that header was included before.
[[nodiscard]] inline bool is_contained(auto* make) noexcept { return make != nullptr; }

}}} // namespace cmwq::CMWQ_NS::detail
