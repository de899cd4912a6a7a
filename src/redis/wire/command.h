// SPDX-License-Identifier: Apache-2.0
// Commands in the format in which Redis reads them (RESP).
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace penstock::redis {

std::string command(std::initializer_list<std::string_view> words);

/// Word by word: `words` calls of add_word() follow begin_command().
void begin_command(std::string& bytes, std::size_t words);
void add_word(std::string& bytes, std::string_view word);

}  // namespace penstock::redis
