# SPDX-License-Identifier: Apache-2.0
# Declares rooms and their tests, with the compiler's warnings and the outside libraries.
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

# -Wrestrict of g++ 12 has false positives in std::string (GCC bug 105651). -Wsubobject-linkage is about types of
# unnamed namespaces in headers, and takes each file of a unity build for a header.
set(PENSTOCK_WARNINGS -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict -Wno-maybe-uninitialized)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND PENSTOCK_WARNINGS -Wno-subobject-linkage)
endif()

# Only the rooms are optimized: their tests gain little by it. With Clang and sanitizers compiling would take three
# times as long; g++ takes as long for either.
set(PENSTOCK_TEST_CODE $<IF:$<CXX_COMPILER_ID:GNU>,-Og,-O0>)

# penstock_room(NAME SOURCES … ROOMS … LIBRARIES …): src/NAME as a static library; ROOMS are the rooms it may include,
# LIBRARIES the outside ones.
function(penstock_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_library(penstock_${name} STATIC ${ROOM_SOURCES})
  target_include_directories(penstock_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_compile_options(penstock_${name} PRIVATE ${PENSTOCK_WARNINGS} -Wpedantic -Wshadow)
  list(TRANSFORM ROOM_ROOMS PREPEND penstock_)
  target_link_libraries(penstock_${name} PUBLIC ${ROOM_ROOMS} PRIVATE ${ROOM_LIBRARIES})
  set(PENSTOCK_ROOMS ${PENSTOCK_ROOMS} ${name} CACHE INTERNAL "")
endfunction()

# penstock_test(NAME SOURCES … ROOMS … LIBRARIES … SHARDS n SECONDS n ALONE FILTER [COMPUTES]): one GoogleTest program.
# CTest runs its tests in one process, or in SHARDS processes side by side. SECONDS is about what one of these takes:
# CTest starts the longest first. ALONE names the tests that judge a few milliseconds: nothing runs beside them.
# COMPUTES: its tests compute more than they wait. They are optimized, and count as two of those that run at a time.
function(penstock_test name)
  cmake_parse_arguments(TEST "COMPUTES" "SHARDS;SECONDS;ALONE" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(test_${name} PRIVATE $<IF:$<BOOL:${TEST_COMPUTES}>,-O1,${PENSTOCK_TEST_CODE}> ${PENSTOCK_WARNINGS})
  list(TRANSFORM TEST_ROOMS PREPEND penstock_)
  target_link_libraries(test_${name} PRIVATE
    penstock_test_support ${TEST_ROOMS} ${TEST_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  if(TEST_ALONE)
    penstock_run_test(${name}/alone "GTEST_FILTER=${TEST_ALONE}")
    set_tests_properties(${name}/alone PROPERTIES RUN_SERIAL TRUE)
    set(others "GTEST_FILTER=-${TEST_ALONE};")
  endif()
  if(NOT TEST_SHARDS)
    penstock_run_test(${name} "${others}")
    return()
  endif()
  math(EXPR last "${TEST_SHARDS} - 1")
  foreach(shard RANGE ${last})
    penstock_run_test(${name}/${shard} "${others}GTEST_TOTAL_SHARDS=${TEST_SHARDS};GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# Used by penstock_test().
macro(penstock_run_test test environment)
  add_test(NAME ${test} COMMAND test_${name})
  set_tests_properties(${test} PROPERTIES TIMEOUT 300 LABELS ${name} COST "${TEST_SECONDS}" ENVIRONMENT "${environment}"
    PROCESSORS $<IF:$<BOOL:${TEST_COMPUTES}>,2,1>)
endmacro()
