# SPDX-License-Identifier: Apache-2.0
# For Penstock's own build: installs what was built into a prefix under the build tree, builds the project beside this
# file against that copy, once as a CMake package and once by pkg-config, and runs it. All labelled `embedded`.
set(work ${PROJECT_BINARY_DIR}/embedded)
set(prefix ${work}/prefix)

# The same compiler and sanitizers as the library; nothing else of this build is known there.
set(toolchain -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER} -DCMAKE_CXX_FLAGS=${CMAKE_CXX_FLAGS}
    -DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE} -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER})

add_test(NAME embedded/install COMMAND ${CMAKE_COMMAND} --install ${PROJECT_BINARY_DIR} --prefix ${prefix})
add_test(NAME embedded/build_by_package COMMAND ${CMAKE_CTEST_COMMAND}
  --build-and-test ${CMAKE_CURRENT_LIST_DIR} ${work}/by_package --build-generator ${CMAKE_GENERATOR} --build-noclean
  --build-options -DCMAKE_PREFIX_PATH=${prefix} ${toolchain})
add_test(NAME embedded/build_by_pkg_config COMMAND ${CMAKE_COMMAND} -E env
  PKG_CONFIG_PATH=${prefix}/${CMAKE_INSTALL_LIBDIR}/pkgconfig CXX=${CMAKE_CXX_COMPILER} "CXXFLAGS=${CMAKE_CXX_FLAGS}"
  ${CMAKE_CURRENT_LIST_DIR}/build_by_pkg_config ${CMAKE_CURRENT_LIST_DIR}/example.cc ${work}/example_by_pkg_config)
add_test(NAME embedded/example_by_pkg_config
  COMMAND ${work}/by_package/embedded_test --gtest_filter=Example.*)
add_test(NAME embedded/readme COMMAND ${CMAKE_COMMAND}
  -DREADME=${PROJECT_SOURCE_DIR}/README.md -DEXAMPLE=${CMAKE_CURRENT_LIST_DIR}/example.cc
  -P ${CMAKE_CURRENT_LIST_DIR}/compare.cmake)

foreach(suite Life Process Reload Requests Ending Example)
  string(TOLOWER ${suite} name)
  add_test(NAME embedded/${name} COMMAND ${work}/by_package/embedded_test --gtest_filter=${suite}.*)
  list(APPEND runs embedded/${name})
endforeach()
list(APPEND runs embedded/example_by_pkg_config)

set_tests_properties(embedded/install PROPERTIES FIXTURES_SETUP penstock_installed)
set_tests_properties(embedded/build_by_package PROPERTIES
  FIXTURES_REQUIRED penstock_installed FIXTURES_SETUP embedded_built)
set_tests_properties(embedded/build_by_pkg_config PROPERTIES
  FIXTURES_REQUIRED penstock_installed FIXTURES_SETUP example_built)
set_tests_properties(${runs} PROPERTIES FIXTURES_REQUIRED embedded_built)
set_tests_properties(embedded/example_by_pkg_config PROPERTIES
  FIXTURES_REQUIRED "embedded_built;example_built" ENVIRONMENT EXAMPLE=${work}/example_by_pkg_config)
set_tests_properties(${runs} embedded/install embedded/build_by_package embedded/build_by_pkg_config embedded/readme
  PROPERTIES LABELS embedded TIMEOUT 900)
