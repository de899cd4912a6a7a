// SPDX-License-Identifier: Apache-2.0
// See page.h. CMake embeds the file.
#include "observe/live/page.h"

#include "observe/live/page_text.h"

namespace penstock::observe {
namespace {

// The places in the page where a frozen state comes in, and its policy.
constexpr std::string_view kFrozenMarker = "<!-- frozen -->", kPolicyMarker = "<!-- policy -->";

int value_of(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

/// As a policy has it: sha256-… in base64. CMake knows digests in hexadecimal digits alone.
std::string source_of(std::string_view hex) {
  constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "'sha256-";
  unsigned int bits = 0;
  int count = 0;
  for (const char digit : hex) {
    bits = bits << 4 | static_cast<unsigned int>(value_of(digit));
    count += 4;
    if (count < 6) continue;
    count -= 6;
    text += kBase64[bits >> count & 63];
  }
  return text + kBase64[bits << (6 - count) & 63] + "='";  // 256 bits: the last digit has four of them
}

std::string policy(std::string_view connect) {
  return "default-src 'none'; script-src " + source_of(kScriptDigest) + "; style-src " + source_of(kStyleDigest) +
         "; connect-src " + std::string(connect) + "; img-src data:; base-uri 'none'; form-action 'none'";
}

void put(std::string& text, std::string_view marker, const std::string& what) {
  text.replace(text.find(marker), marker.size(), what);
}

/// Within a script element nothing ends it, nor begins a comment.
std::string harmless(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string_view page() { return kPage; }

const std::string& page_policy() {
  static const std::string whole = policy("'self'") + "; frame-ancestors 'none'";
  return whole;
}

std::string frozen_page(std::string_view json) {
  std::string text{kPage};
  put(text, kPolicyMarker, "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy("'none'") + "\">");
  put(text, kFrozenMarker, "<script type=\"application/json\" id=\"frozen\">" + harmless(json) + "</script>");
  return text;
}

}  // namespace penstock::observe
