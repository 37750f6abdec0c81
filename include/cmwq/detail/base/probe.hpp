// SPDX-License-Identifier: BSL-1.0
//
// Static probes (USDT): places at which bpftrace, perf, gdb and SystemTap can stop or count. A probe is one instruction
// that does nothing, and a note in the file that says where it is, and where its arguments are. Without a tool it costs
// that instruction. <sys/sdt.h> has such macros, but few machines have the header.
//
// The notes have the form that SystemTap documents as version 3 of "stapsdt": three addresses, and three texts.
#pragma once

#include <cmwq/detail/base/config.hpp>

#include <cstdint>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

/// An argument of a probe: a number, or an address.
template <class T>
constexpr std::uint64_t probe_argument(T v) noexcept {
    return static_cast<std::uint64_t>(v);
}
template <class T>
std::uint64_t probe_argument(T* p) noexcept {
    return reinterpret_cast<std::uintptr_t>(p);
}

}}} // namespace cmwq::CMWQ_NS::detail

// CMWQ_PROBE(name, arguments...): up to four of them, which are computed in any case.
#if !defined(CMWQ_NO_PROBES) && (defined(__x86_64__) || defined(__aarch64__))

#ifdef __aarch64__
#define CMWQ_PROBE_PLACE "r" // a register
#else
#define CMWQ_PROBE_PLACE "nor" // a number, memory or a register
#endif

// "?": the note belongs to the same group as the function, so the linker drops both or none.
#define CMWQ_PROBE_NOTE(NAME, ARGUMENTS)                                                                               \
    "990: nop\n"                                                                                                       \
    ".pushsection .note.stapsdt,\"?\",\"note\"\n"                                                                      \
    ".balign 4\n"                                                                                                      \
    ".4byte 992f-991f, 994f-993f, 3\n"                                                                                 \
    "991: .asciz \"stapsdt\"\n"                                                                                        \
    "992: .balign 4\n"                                                                                                 \
    "993: .8byte 990b\n"                                                                                               \
    ".8byte _.stapsdt.base\n"                                                                                          \
    ".8byte 0\n"                                                                                                       \
    ".asciz \"cmwq\"\n"                                                                                                \
    ".asciz \"" #NAME "\"\n"                                                                                           \
    ".asciz \"" ARGUMENTS "\"\n"                                                                                       \
    "994: .balign 4\n"                                                                                                 \
    ".popsection\n"                                                                                                    \
    ".ifndef _.stapsdt.base\n"                                                                                         \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"                                            \
    ".weak _.stapsdt.base\n"                                                                                           \
    ".hidden _.stapsdt.base\n"                                                                                         \
    "_.stapsdt.base: .space 1\n"                                                                                       \
    ".size _.stapsdt.base, 1\n"                                                                                        \
    ".popsection\n"                                                                                                    \
    ".endif\n"

#define CMWQ_PROBE_IN(V) CMWQ_PROBE_PLACE(::cmwq::CMWQ_NS::detail::probe_argument(V))
#define CMWQ_PROBE_1(NAME, A) asm volatile(CMWQ_PROBE_NOTE(NAME, "8@%0")::CMWQ_PROBE_IN(A))
#define CMWQ_PROBE_2(NAME, A, B) asm volatile(CMWQ_PROBE_NOTE(NAME, "8@%0 8@%1")::CMWQ_PROBE_IN(A), CMWQ_PROBE_IN(B))
#define CMWQ_PROBE_3(NAME, A, B, C)                                                                                    \
    asm volatile(CMWQ_PROBE_NOTE(NAME, "8@%0 8@%1 8@%2")::CMWQ_PROBE_IN(A), CMWQ_PROBE_IN(B), CMWQ_PROBE_IN(C))
#define CMWQ_PROBE_4(NAME, A, B, C, D)                                                                                 \
    asm volatile(CMWQ_PROBE_NOTE(NAME, "8@%0 8@%1 8@%2 8@%3")::CMWQ_PROBE_IN(A), CMWQ_PROBE_IN(B), CMWQ_PROBE_IN(C),   \
                 CMWQ_PROBE_IN(D))
#define CMWQ_PROBE_PICK(A, B, C, D, N, ...) CMWQ_PROBE_##N
#define CMWQ_PROBE(NAME, ...) CMWQ_PROBE_PICK(__VA_ARGS__, 4, 3, 2, 1, )(NAME, __VA_ARGS__)

#else

#define CMWQ_PROBE(NAME, ...) static_cast<void>(0)

#endif
