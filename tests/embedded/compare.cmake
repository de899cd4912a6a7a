# SPDX-License-Identifier: Apache-2.0
# Fails unless the README shows the example as it is, from its first #include on.
#   cmake -DREADME=README.md -DEXAMPLE=example.cc -P compare.cmake
file(READ ${README} readme)
file(READ ${EXAMPLE} example)
string(FIND "${example}" "#include" start)
string(SUBSTRING "${example}" ${start} -1 example)
string(FIND "${readme}" "```cpp\n${example}```\n" found)
if(start LESS 0 OR found LESS 0)
  message(FATAL_ERROR "the C++ example in ${README} is not ${EXAMPLE}")
endif()
