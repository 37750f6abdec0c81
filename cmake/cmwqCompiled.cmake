# cmwq::compiled: the engine as a library; BUILD_SHARED_LIBS decides whether it is a shared one. It is compiled in the build
# of the program that links it, with the flags of that program, as one translation unit, so that the compiler can inline
# calls between the bodies. With -DCMWQ_UNITY_BUILD=OFF each body is a translation unit: a changed one compiles in seconds,
# and tools such as clangd know how to compile it. `cmwq_engine_source` includes all bodies; `cmwq_bodies` are their files.
# One file includes the leaves, so that the options of a runtime reach them; those whose libraries are not found are missing.
if(NOT TARGET cmwq_compiled)
  option(CMWQ_UNITY_BUILD "Compile cmwq::compiled as one translation unit" ON)
  if(CMWQ_UNITY_BUILD)
    set(cmwq_with_leaves ${cmwq_engine_source})
    add_library(cmwq_compiled EXCLUDE_FROM_ALL ${cmwq_engine_source})
  else()
    cmake_policy(PUSH)
    cmake_policy(SET CMP0119 NEW) # the suffix does not say that they are C++; LANGUAGE does
    set(cmwq_with_leaves ${cmwq_bodies})
    list(FILTER cmwq_with_leaves INCLUDE REGEX "engine/api/runtime[.]ipp$")
    add_library(cmwq_compiled EXCLUDE_FROM_ALL ${cmwq_bodies})
    set_source_files_properties(${cmwq_bodies} PROPERTIES LANGUAGE CXX)
    cmake_policy(POP)
  endif()
  set_source_files_properties(${cmwq_with_leaves} PROPERTIES COMPILE_OPTIONS "-include;cmwq/detail/leaves.hpp")
  find_path(CMWQ_BOOST_INCLUDE_DIR boost/lockfree/spsc_queue.hpp DOC "The headers of Boost, for traces")
  mark_as_advanced(CMWQ_BOOST_INCLUDE_DIR)
  if(CMWQ_BOOST_INCLUDE_DIR)
    target_include_directories(cmwq_compiled SYSTEM PRIVATE ${CMWQ_BOOST_INCLUDE_DIR})
  endif()
  add_library(cmwq::compiled ALIAS cmwq_compiled)
  target_compile_definitions(cmwq_compiled PUBLIC CMWQ_COMPILED)
  target_link_libraries(cmwq_compiled PUBLIC cmwq::cmwq)
  set_target_properties(cmwq_compiled PROPERTIES
                        POSITION_INDEPENDENT_CODE ON # shared libraries may link it
                        CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF) # it exports the engine
endif()
