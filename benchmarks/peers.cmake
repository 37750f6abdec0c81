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

find_package(Taskflow CONFIG QUIET)
if(Taskflow_FOUND)
  cmwq_bench_peer(TASKFLOW Taskflow::Taskflow)
endif()

find_path(BS_THREAD_POOL_INCLUDE_DIR BS_thread_pool.hpp)
if(BS_THREAD_POOL_INCLUDE_DIR)
  target_include_directories(cmwq_bench_peers SYSTEM INTERFACE ${BS_THREAD_POOL_INCLUDE_DIR})
  cmwq_bench_peer(BS)
endif()

find_path(DISPATCH_INCLUDE_DIR dispatch/dispatch.h)
find_library(DISPATCH_LIBRARY dispatch)
if(DISPATCH_INCLUDE_DIR AND DISPATCH_LIBRARY)
  target_include_directories(cmwq_bench_peers SYSTEM INTERFACE ${DISPATCH_INCLUDE_DIR})
  cmwq_bench_peer(DISPATCH ${DISPATCH_LIBRARY})
endif()

find_package(folly CONFIG QUIET)
if(folly_FOUND)
  cmwq_bench_peer(FOLLY Folly::folly)
endif()

find_package(concurrencpp CONFIG QUIET)
if(concurrencpp_FOUND)
  cmwq_bench_peer(CONCURRENCPP concurrencpp::concurrencpp)
endif()

find_package(stdexec CONFIG QUIET)
if(stdexec_FOUND)
  cmwq_bench_peer(STDEXEC STDEXEC::stdexec)
endif()
