# SPDX-License-Identifier: Apache-2.0
# How rooms and their tests are declared, with the compiler's warnings and the outside libraries.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(CURL 7.87 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(UV REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(CARES REQUIRED IMPORTED_TARGET libcares)
pkg_check_modules(HIREDIS REQUIRED IMPORTED_TARGET hiredis)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)

set(PENSTOCK_ROOMS "" CACHE INTERNAL "")

# penstock_room(NAME SOURCES … ROOMS … LIBRARIES …): src/NAME as a static library; ROOMS are the rooms it may include,
# LIBRARIES the outside ones.
function(penstock_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_library(penstock_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(penstock_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  # -Wrestrict of g++ 12 sees ghosts in std::string (GCC bug 105651).
  target_compile_options(penstock_${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized)
  list(TRANSFORM ROOM_ROOMS PREPEND penstock_)
  target_link_libraries(penstock_${name} PUBLIC ${ROOM_ROOMS} PRIVATE ${ROOM_LIBRARIES})
  set(PENSTOCK_ROOMS ${PENSTOCK_ROOMS} ${name} CACHE INTERNAL "")
endfunction()

# penstock_test(NAME SOURCES … ROOMS … LIBRARIES …): one GoogleTest program; its tests are found by CTest. Only the rooms
# are optimized: their tests gain little by it, and would take half as long again to compile.
function(penstock_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_options(test_${name} PRIVATE
    -Og -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized)
  list(LENGTH TEST_SOURCES count)
  if(count GREATER 10)  # fewer would not pay for it
    target_precompile_headers(test_${name} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    target_compile_options(test_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)  # for ccache
  endif()
  list(TRANSFORM TEST_ROOMS PREPEND penstock_)
  target_link_libraries(test_${name} PRIVATE ${TEST_ROOMS} ${TEST_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  gtest_discover_tests(test_${name} TEST_PREFIX ${name}/ PROPERTIES TIMEOUT 600 LABELS ${name} DISCOVERY_TIMEOUT 60)
endfunction()
