# SPDX-License-Identifier: Apache-2.0
# The library as an embedding program uses it: a test program that is linked with it and nothing else of Penstock, and
# the example of the README. The example is built here, and twice more against a copy of what is installed, under the
# build tree: as a CMake package and by pkg-config. All labelled `embedded`.
set(work ${PROJECT_BINARY_DIR}/embedded)
set(prefix ${work}/prefix)

add_executable(embedded_example embedded/example.cc)
target_link_libraries(embedded_example PRIVATE Penstock::penstock)

penstock_test(embedded
  SOURCES embedded/origin.cc embedded/stage.cc embedded/ending_test.cc embedded/example_test.cc
          embedded/life_test.cc embedded/permits_test.cc embedded/ahead_test.cc embedded/process_test.cc embedded/reload_test.cc embedded/requests_test.cc
          embedded/refusals_test.cc
  LIBRARIES Penstock::penstock
  SHARDS 3 SECONDS 12)
target_compile_definitions(test_embedded PRIVATE EXAMPLE="$<TARGET_FILE:embedded_example>")
add_dependencies(test_embedded embedded_example)

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
add_test(NAME embedded/readme COMMAND ${CMAKE_COMMAND}
  -DREADME=${PROJECT_SOURCE_DIR}/README.md -DEXAMPLE=${CMAKE_CURRENT_LIST_DIR}/example.cc
  -P ${CMAKE_CURRENT_LIST_DIR}/compare.cmake)
foreach(way package pkg_config)
  add_test(NAME embedded/example_by_${way} COMMAND test_embedded --gtest_filter=Example.*)
  set_tests_properties(embedded/build_by_${way} PROPERTIES
    FIXTURES_REQUIRED penstock_installed FIXTURES_SETUP example_by_${way})
  set_tests_properties(embedded/example_by_${way} PROPERTIES FIXTURES_REQUIRED example_by_${way})
endforeach()

set_tests_properties(embedded/install PROPERTIES FIXTURES_SETUP penstock_installed)
set_tests_properties(embedded/example_by_package PROPERTIES ENVIRONMENT EXAMPLE=${work}/by_package/example)
set_tests_properties(embedded/example_by_pkg_config PROPERTIES ENVIRONMENT EXAMPLE=${work}/example_by_pkg_config)
set_tests_properties(
  embedded/install embedded/build_by_package embedded/build_by_pkg_config embedded/readme
  embedded/example_by_package embedded/example_by_pkg_config
  PROPERTIES LABELS embedded TIMEOUT 300)
