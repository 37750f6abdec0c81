# The API reference of the public headers: `cmake --build build/dev --target docs` writes build/dev/reference/html. It
# fails where a public entity has no documentation, or a document has a link to a heading that does not exist.

find_package(Doxygen 1.9.4 QUIET) # the oldest one that has been tried
find_package(Python3 QUIET COMPONENTS Interpreter)
set(cmwq_reference_dir ${PROJECT_BINARY_DIR}/reference)
set(cmwq_reference_found FALSE)

if(Doxygen_FOUND AND Python3_FOUND)
  set(cmwq_reference_found TRUE)
  configure_file(cmake/Doxyfile.in ${cmwq_reference_dir}/Doxyfile @ONLY)
  # From nothing: a page of something that is gone must not stay.
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
