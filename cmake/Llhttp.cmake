# SPDX-License-Identifier: Apache-2.0
# llhttp in strict mode, as the target `llhttp`: built from the sources that Debian ships in node-llhttp. They are not
# ours and are never copied here; their warnings are hidden.
find_path(LLHTTP_SOURCES llhttp.c PATHS /usr/share/llhttp REQUIRED)
find_path(LLHTTP_HEADERS llhttp.h PATHS /usr/share/include/llhttp REQUIRED)

add_library(llhttp STATIC ${LLHTTP_SOURCES}/api.c ${LLHTTP_SOURCES}/http.c ${LLHTTP_SOURCES}/llhttp.c)
target_include_directories(llhttp SYSTEM PUBLIC ${LLHTTP_HEADERS})
target_compile_definitions(llhttp PUBLIC LLHTTP_STRICT_MODE=1)
target_compile_options(llhttp PRIVATE -w)
# Its files have static functions of the same names, so they cannot share a unity build.
set_target_properties(llhttp PROPERTIES UNITY_BUILD OFF POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET hidden)
