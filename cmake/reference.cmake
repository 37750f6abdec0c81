# The API reference of the public headers: `cmake --build build/dev --target docs` writes build/dev/reference/html. The
# target fails if a public entity has no documentation, or if a document has a link to a heading that does not exist.

find_package(Doxygen 1.9.4 QUIET) # the oldest version that has been tested
find_package(Python3 QUIET COMPONENTS Interpreter)
set(cmwq_reference_dir ${PROJECT_BINARY_DIR}/reference)
set(cmwq_reference_found FALSE)

if(Doxygen_FOUND AND Python3_FOUND)
  set(cmwq_reference_found TRUE)
  configure_file(cmake/Doxyfile.in ${cmwq_reference_dir}/Doxyfile @ONLY)
  # Start with an empty directory, so that no page of a deleted entity remains.
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${cmwq_reference_dir}/html
    COMMAND ${DOXYGEN_EXECUTABLE} ${cmwq_reference_dir}/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "API reference: ${cmwq_reference_dir}/html/index.html"
    VERBATIM)
else()
  add_custom_target(docs
    COMMAND ${CMAKE_COMMAND} -E echo
            "error: the API reference needs Doxygen 1.9.4 or newer and Python 3: apt-get install doxygen python3"
    COMMAND ${CMAKE_COMMAND} -E false
    COMMENT "API reference"
    VERBATIM)
endif()
