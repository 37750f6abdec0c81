# What only the developers of cmwq need. A consumer never gets here: nothing of it reaches cmwq::cmwq.

set(CMWQ_SYNC std CACHE STRING "Backend that the tests are built for: std (all of them; the tests of the model and those \
with faults are built with their own all the same), fault or model (only those)")
set_property(CACHE CMWQ_SYNC PROPERTY STRINGS std fault model)
if(NOT CMWQ_SYNC MATCHES "^(std|fault|model)$")
  message(FATAL_ERROR "CMWQ_SYNC is '${CMWQ_SYNC}'; it must be one of std, fault, model")
endif()

set(CMWQ_SANITIZE "" CACHE STRING "Value of -fsanitize= for tests, examples and benchmarks, e.g. address,undefined")

option(CMWQ_ONLY_COMPILE "Nothing of this tree is run: the searches need not be fast" OFF)
option(CMWQ_COVERAGE "Count what runs of the library, see scripts/coverage; needs clang" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Debug CACHE STRING "Build type" FORCE)
endif()

find_program(CMWQ_CCACHE ccache DOC "Compiler cache; used when found")
if(CMWQ_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With precompiled headers it caches only what it may treat so; the tests use no macro that the headers look at.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                  CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  ${CMWQ_CCACHE})
endif()

# Warnings and sanitizers of our own targets; every one of them links it, no consumer ever does.
add_library(cmwq_dev INTERFACE)
target_compile_features(cmwq_dev INTERFACE cxx_std_20)
target_compile_options(cmwq_dev INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cmwq_dev INTERFACE -fpch-preprocess) # what ccache needs for a precompiled header
endif()
# std::counting_semaphore of libstdc++ 11 and 12 may sleep although it could be acquired (GCC bug 104928): a thread that
# fails to acquire it waits for the value that it has read before, and a release from zero to that value wakes nobody then.
# POSIX semaphores take its place in our own programs.
target_compile_definitions(cmwq_dev INTERFACE _GLIBCXX_USE_POSIX_SEMAPHORE=1)
# Some two hundred programs: binutils' other linker takes half of the time.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold CMWQ_GOLD)
if(CMWQ_GOLD AND NOT CMWQ_SANITIZE) # it does not understand what clang's sanitizers export
  target_link_options(cmwq_dev INTERFACE -fuse-ld=gold)
endif()
if(CMWQ_SANITIZE)
  set(cmwq_sanitizer_flags -fsanitize=${CMWQ_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(cmwq_dev INTERFACE ${cmwq_sanitizer_flags})
  target_link_options(cmwq_dev INTERFACE ${cmwq_sanitizer_flags})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # the macros that g++ defines
    foreach(sanitizer THREAD ADDRESS)
      string(TOLOWER ${sanitizer} name)
      if(CMWQ_SANITIZE MATCHES "${name}")
        target_compile_definitions(cmwq_dev INTERFACE __SANITIZE_${sanitizer}__=1)
      endif()
    endforeach()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ sees uninitialised values in libstdc++ that only its own instrumentation has brought there.
    target_compile_options(cmwq_dev INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(CMWQ_COVERAGE)
  # The counters are pages of the file itself, so that they outlive whoever ends by abort() or _exit(), and a child's add
  # to its parent's; they are atomic for the sake of threads, of processes, and of counts that are not lost.
  target_compile_options(cmwq_dev INTERFACE -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic
                         "SHELL:-mllvm -runtime-counter-relocation=true"
                         -fprofile-list=${CMAKE_CURRENT_LIST_DIR}/coverage.list)
  target_link_options(cmwq_dev INTERFACE -fprofile-instr-generate)
endif()

enable_testing()

# What the tidy preset looks at besides the examples: the public headers, by way of programs that use them.
option(CMWQ_TIDY "Build a library for clang-tidy to look at" OFF)
if(CMWQ_TIDY)
  file(GLOB tidy_sources CONFIGURE_DEPENDS tests/package/*.cpp tests/package/find_package/*.cpp
       tests/compile_fail/control/control.cpp)
  add_library(cmwq_tidy OBJECT ${tidy_sources})
  target_link_libraries(cmwq_tidy PRIVATE cmwq::cmwq)
endif()

include(cmake/reference.cmake)

if(CMWQ_TESTS)
  add_subdirectory(tests)
endif()
if(CMWQ_EXAMPLES)
  add_subdirectory(examples)
endif()
if(CMWQ_BENCHMARKS)
  add_subdirectory(benchmarks)
endif()
