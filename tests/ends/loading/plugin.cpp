// SPDX-License-Identifier: BSL-1.0
//
// A library whose constructor calls a function of the program that loads it.
#include <cstdint>
#include <cstdlib>

namespace {

__attribute__((constructor)) void call_program() {
    const char* const address = std::getenv("CMWQ_TEST_IN_CONSTRUCTOR");
    if (address == nullptr) return;
    reinterpret_cast<void (*)()>(static_cast<std::uintptr_t>(std::strtoull(address, nullptr, 16)))();
}

} // namespace
