# Finds hwloc: the imported target hwloc::hwloc, hwloc_VERSION, hwloc_INCLUDE_DIR, hwloc_LIBRARY.
#
# If pkg-config is installed, it gives the place of hwloc; set hwloc_ROOT for another place.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_hwloc QUIET hwloc)
endif()

find_path(hwloc_INCLUDE_DIR hwloc.h HINTS ${PC_hwloc_INCLUDE_DIRS})
find_library(hwloc_LIBRARY hwloc HINTS ${PC_hwloc_LIBRARY_DIRS})
mark_as_advanced(hwloc_INCLUDE_DIR hwloc_LIBRARY)

# The version of the interface, which cmwq depends on: 0x00020800 is 2.8.0.
if(hwloc_INCLUDE_DIR AND EXISTS ${hwloc_INCLUDE_DIR}/hwloc.h)
  file(STRINGS ${hwloc_INCLUDE_DIR}/hwloc.h hwloc_VERSION REGEX "define HWLOC_API_VERSION 0x")
  if(hwloc_VERSION MATCHES "0x([0-9a-fA-F]+)([0-9a-fA-F][0-9a-fA-F])([0-9a-fA-F][0-9a-fA-F])$")
    math(EXPR hwloc_major "0x${CMAKE_MATCH_1}")
    math(EXPR hwloc_minor "0x${CMAKE_MATCH_2}")
    math(EXPR hwloc_patch "0x${CMAKE_MATCH_3}")
    set(hwloc_VERSION ${hwloc_major}.${hwloc_minor}.${hwloc_patch})
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hwloc REQUIRED_VARS hwloc_LIBRARY hwloc_INCLUDE_DIR VERSION_VAR hwloc_VERSION
  REASON_FAILURE_MESSAGE "The package is libhwloc-dev on Debian and Ubuntu, hwloc-devel on Fedora, hwloc on Arch.")

if(hwloc_FOUND AND NOT TARGET hwloc::hwloc)
  add_library(hwloc::hwloc UNKNOWN IMPORTED)
  set_target_properties(hwloc::hwloc PROPERTIES IMPORTED_LOCATION "${hwloc_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${hwloc_INCLUDE_DIR}")
endif()
