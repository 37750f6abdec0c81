# Settings and targets that only the developers of cmwq need. A consumer's build does not include this file, and nothing
# here changes cmwq::cmwq.

set(CMWQ_SYNC std CACHE STRING "Backend of the tests: std builds all tests, those for other backends with their own \
backend; fault, model or counting builds only the tests for that backend")
set_property(CACHE CMWQ_SYNC PROPERTY STRINGS std fault model counting)
if(NOT CMWQ_SYNC MATCHES "^(std|fault|model|counting)$")
  message(FATAL_ERROR "CMWQ_SYNC is '${CMWQ_SYNC}'; it must be one of std, fault, model, counting")
endif()

set(CMWQ_SANITIZE "" CACHE STRING "Value of -fsanitize= for tests, examples and benchmarks, e.g. address,undefined")

option(CMWQ_ONLY_COMPILE "Compile the engine for each backend, but build no tests: nothing of this tree is run" OFF)
option(CMWQ_COVERAGE "Count the executed lines of the library, see scripts/coverage; needs clang" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Debug CACHE STRING "Build type" FORCE)
endif()

find_program(CMWQ_CCACHE ccache DOC "Compiler cache; used when found")
if(CMWQ_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # With precompiled headers, ccache caches a compilation only under these settings. They are correct here, because the
  # tests define no macro that the headers read.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
                                  CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
                                  ${CMWQ_CCACHE})
endif()

# Warnings and sanitizers of this project's targets. Each of them links this target; consumers do not.
add_library(cmwq_dev INTERFACE)
target_compile_features(cmwq_dev INTERFACE cxx_std_20)
target_compile_options(cmwq_dev INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(cmwq_dev INTERFACE -fpch-preprocess) # ccache needs it for a precompiled header
  # g++ spends a tenth of its time on collecting garbage unless it may use this much memory first (in kB).
  target_compile_options(cmwq_dev INTERFACE "SHELL:--param ggc-min-heapsize=1000000")
endif()
# std::counting_semaphore of libstdc++ 11 and 12 may sleep although it could be acquired (GCC bug 104928): a thread that
# fails to acquire it waits with the value that it has read before, and a release from zero to that value then wakes no
# thread. This project's programs use POSIX semaphores instead.
target_compile_definitions(cmwq_dev INTERFACE _GLIBCXX_USE_POSIX_SEMAPHORE=1)
# Some two hundred programs are linked, and gold takes half of the time of the default linker of binutils.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold CMWQ_GOLD)
if(CMWQ_GOLD AND NOT CMWQ_SANITIZE) # gold does not support the export lists of clang's sanitizers
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
    # With its own instrumentation, g++ warns of uninitialized values in libstdc++ that do not exist.
    target_compile_options(cmwq_dev INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()

if(CMWQ_COVERAGE)
  # The counters are mapped pages of the profile file. So they are kept when a program ends by abort() or _exit(), and a
  # child process adds to the counters of its parent. They are atomic, so that threads and processes lose no counts.
  target_compile_options(cmwq_dev INTERFACE -fprofile-instr-generate -fcoverage-mapping -fprofile-update=atomic
                         "SHELL:-mllvm -runtime-counter-relocation=true"
                         -fprofile-list=${CMAKE_CURRENT_LIST_DIR}/coverage.list)
  target_link_options(cmwq_dev INTERFACE -fprofile-instr-generate)
endif()

enable_testing()

# Besides the examples, the tidy preset checks the public headers, by compiling programs that use them.
option(CMWQ_TIDY "Build a library that clang-tidy checks" OFF)
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
