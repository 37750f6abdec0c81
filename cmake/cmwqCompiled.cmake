# cmwq::compiled: the engine as a library; BUILD_SHARED_LIBS decides whether it is a shared one. It is compiled in the build
# of the program that links it, with the flags of that program. `cmwq_engine_source` is its source file.
if(NOT TARGET cmwq_compiled)
  add_library(cmwq_compiled EXCLUDE_FROM_ALL ${cmwq_engine_source})
  add_library(cmwq::compiled ALIAS cmwq_compiled)
  target_compile_definitions(cmwq_compiled PUBLIC CMWQ_COMPILED)
  target_link_libraries(cmwq_compiled PUBLIC cmwq::cmwq)
  set_target_properties(cmwq_compiled PROPERTIES
                        POSITION_INDEPENDENT_CODE ON # shared libraries may link it
                        CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF) # it exports the engine
endif()
