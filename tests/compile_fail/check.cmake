# Compiles FILE with COMPILER, which is a COMPILER_ID. MODE must_compile: that has to work. MODE must_fail: it has to
# fail, and with the words that the first line of FILE expects.
# (Messages are indented because CMake would wrap them otherwise.)
file(STRINGS ${FILE} first_line LIMIT_COUNT 1)
if(MODE STREQUAL "must_fail" AND NOT first_line MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "  ${FILE} has no // expect: line")
endif()
set(expected "${CMAKE_MATCH_1}")

# English, with plain quotes and without the source lines: what is matched has to be the compiler's own words.
set(ENV{LC_ALL} C)
set(terse -fno-diagnostics-show-caret)
if(COMPILER_ID MATCHES "Clang")
  set(terse -fno-caret-diagnostics)
endif()
execute_process(COMMAND ${COMPILER} -std=c++20 -Wall -Wextra -Werror -pthread -DCMWQ_COMPILED -fsyntax-only ${terse}
                        -I${INCLUDE} ${FILE}
                RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
string(REPLACE "${FILE}" "<this file>" said "${said}")
if(MODE STREQUAL "must_compile")
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "  ${FILE} does not compile, although it must:\n${said}")
  endif()
elseif(result EQUAL 0)
  message(FATAL_ERROR "  ${FILE} compiles, although it must not")
elseif(NOT said MATCHES "${expected}")
  message(FATAL_ERROR "  ${FILE} fails for another reason than '${expected}':\n${said}")
endif()
