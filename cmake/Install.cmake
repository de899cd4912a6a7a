# SPDX-License-Identifier: Apache-2.0
# The library: the objects of all rooms and of llhttp in one archive; then what `cmake --install` puts where, in two
# components: `runtime` (the program and the files beside it) and `development` (the library for embedding).
include(CMakePackageConfigHelpers)

set(objects ${PENSTOCK_ROOMS})
list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:penstock_\\1>")
add_library(penstock_library STATIC ${objects} $<TARGET_OBJECTS:llhttp>)
add_library(Penstock::penstock ALIAS penstock_library)
set_target_properties(penstock_library PROPERTIES OUTPUT_NAME penstock EXPORT_NAME penstock LINKER_LANGUAGE CXX)
target_compile_features(penstock_library PUBLIC cxx_std_23)
target_include_directories(penstock_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# The public headers need only the standard library: an embedding program links these, and never includes them.
target_link_libraries(penstock_library PRIVATE
  CURL::libcurl OpenSSL::SSL prometheus-cpp::core spdlog::spdlog yaml-cpp PkgConfig::UV PkgConfig::CARES PkgConfig::HIREDIS Threads::Threads crypt)

set(to_share ${CMAKE_INSTALL_DATADIR}/penstock)
set(to_package ${CMAKE_INSTALL_LIBDIR}/cmake/Penstock)

# development
install(TARGETS penstock_library EXPORT PenstockTargets ARCHIVE COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/penstock TYPE INCLUDE COMPONENT development)
install(EXPORT PenstockTargets NAMESPACE Penstock:: DESTINATION ${to_package} COMPONENT development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/PenstockConfig.cmake.in ${PROJECT_BINARY_DIR}/PenstockConfig.cmake
  INSTALL_DESTINATION ${to_package} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/PenstockConfig.cmake ${PROJECT_BINARY_DIR}/PenstockConfigVersion.cmake
  DESTINATION ${to_package} COMPONENT development)

# The .pc file gives paths relative to itself, so that an installed tree can be moved.
file(RELATIVE_PATH PENSTOCK_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PENSTOCK_PC_TO_PREFIX "${PENSTOCK_PC_TO_PREFIX}")
configure_file(${CMAKE_CURRENT_LIST_DIR}/penstock.pc.in ${PROJECT_BINARY_DIR}/penstock.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/penstock.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

# runtime
install(TARGETS penstock RUNTIME COMPONENT runtime)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/config ${PROJECT_SOURCE_DIR}/dashboards DESTINATION ${to_share}
  COMPONENT runtime PATTERN "*_test.yml" EXCLUDE PATTERN systemd EXCLUDE PATTERN debian EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/config/systemd/ DESTINATION lib/systemd/system COMPONENT runtime)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE TYPE DOC COMPONENT runtime)
