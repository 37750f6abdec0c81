# cmwq_bench_peers: the libraries that the suite compares with. Boost.Asio is always there, the others if CMake finds
# them. CMWQ_BENCH_<NAME> tells the sources which.

add_library(cmwq_bench_peers INTERFACE)

# cmwq_bench_peer(<NAME> <library>...)
function(cmwq_bench_peer name)
  target_link_libraries(cmwq_bench_peers INTERFACE ${ARGN})
  target_compile_definitions(cmwq_bench_peers INTERFACE CMWQ_BENCH_${name}=1)
endfunction()

if(TBB_FOUND)
  cmwq_bench_peer(TBB TBB::tbb)
endif()

# Libraries of headers that have no package in Debian 12: -DCMAKE_INCLUDE_PATH='/path/to/taskflow;/path/to/stdexec/include'
# cmwq_bench_headers(<NAME> <header>)
function(cmwq_bench_headers name header)
  find_path(CMWQ_BENCH_${name}_INCLUDE_DIR ${header})
  mark_as_advanced(CMWQ_BENCH_${name}_INCLUDE_DIR)
  if(CMWQ_BENCH_${name}_INCLUDE_DIR)
    target_include_directories(cmwq_bench_peers SYSTEM INTERFACE ${CMWQ_BENCH_${name}_INCLUDE_DIR})
    cmwq_bench_peer(${name})
  endif()
endfunction()

cmwq_bench_headers(TASKFLOW taskflow/taskflow.hpp)
cmwq_bench_headers(BS BS_thread_pool.hpp)
cmwq_bench_headers(STDEXEC exec/static_thread_pool.hpp)
