// SPDX-License-Identifier: BSL-1.0
//
// failure: why the tool ends with a status other than 0.
#pragma once

#include <stdexcept>
#include <string>

namespace cmwq_tool {

/// The exit status of the tool; cmwq(1) lists them.
enum class status : int {
    good = 0,
    findings = 1, ///< `stalls` and `doctor` have found something
    usage = 2,    ///< wrong arguments
    nobody = 3,   ///< no process answers
    refused = 4,  ///< the process refuses the request, or its answer lacks something
};

class failure : public std::runtime_error {
public:
    failure(status s, const std::string& sentence) : std::runtime_error(sentence), code(s) {}
    const status code;
};

} // namespace cmwq_tool
