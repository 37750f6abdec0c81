# Compiles FILE with COMPILER, a compiler of the kind COMPILER_ID, after HEADERS. If MODE is must_compile, FILE has to
# compile. If MODE is must_fail, FILE must not compile, and the compiler's messages have to match the regular expression
# in its first line. If MODE is precompile, HEADERS is written and precompiled, and there is no FILE.
# (Messages are indented because CMake would wrap them otherwise.)
set(flags -std=c++20 -Wall -Wextra -Werror -pthread -DCMWQ_COMPILED -I${INCLUDE})
if(MODE STREQUAL "precompile")
  file(WRITE ${HEADERS} "#include <cmwq/cmwq.hpp>\n")
  execute_process(COMMAND ${COMPILER} ${flags} -x c++-header ${HEADERS} -o ${HEADERS}.gch COMMAND_ERROR_IS_FATAL ANY)
  return()
endif()

file(STRINGS ${FILE} first_line LIMIT_COUNT 1)
if(MODE STREQUAL "must_fail" AND NOT first_line MATCHES "^// expect: (.+)$")
  message(FATAL_ERROR "  ${FILE} has no // expect: line")
endif()
set(expected "${CMAKE_MATCH_1}")

# The messages are in English, with plain quotes and without source lines, so that the regular expression matches the
# words of the compiler only.
set(ENV{LC_ALL} C)
set(terse -fno-diagnostics-show-caret)
if(COMPILER_ID MATCHES "Clang")
  set(terse -fno-caret-diagnostics)
endif()
execute_process(COMMAND ${COMPILER} ${flags} -fsyntax-only ${terse} -include ${HEADERS} ${FILE}
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
