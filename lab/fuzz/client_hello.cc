// SPDX-License-Identifier: Apache-2.0
// The first bytes of a tunnel: however they are cut, the same is read from them, it is printable and short, and where
// OpenSSL understands the hello it has the same name and protocols in it.
#include "tls/client_hello.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <string>

#include "fuzz/fuzz.h"

namespace penstock::fuzz {
namespace {

/// What OpenSSL finds, raw; it takes apart only the records, the message and its extensions.
struct Second {
  bool understood = false;
  std::string names, protocols;
};

int look(SSL* ssl, int* alert, void*) {
  auto* second = static_cast<Second*>(SSL_get_app_data(ssl));
  second->understood = true;
  const unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &bytes, &size) == 1)
    second->names.assign(reinterpret_cast<const char*>(bytes), size);
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &bytes, &size) == 1)
    second->protocols.assign(reinterpret_cast<const char*>(bytes), size);
  *alert = SSL_AD_INTERNAL_ERROR;
  return SSL_CLIENT_HELLO_ERROR;
}

Second ask_openssl(std::string_view input) {
  static SSL_CTX* const all = [] {
    SSL_CTX* made = SSL_CTX_new(TLS_server_method());
    SSL_CTX_set_client_hello_cb(made, look, nullptr);
    return made;
  }();
  Second second;
  SSL* ssl = SSL_new(all);
  SSL_set_app_data(ssl, &second);
  BIO* in = BIO_new_mem_buf(input.data(), static_cast<int>(input.size()));
  SSL_set_bio(ssl, in, BIO_new(BIO_s_mem()));
  SSL_accept(ssl);
  SSL_free(ssl);
  return second;
}

std::size_t number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = at; i < at + size; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// Of an extension with exactly one host name in it; empty: it is not that.
std::string only_name(std::string_view names) {
  if (names.size() < 6 || names[2] != 0) return {};
  const bool exact = number(names, 0, 2) == names.size() - 2 && number(names, 3, 2) == names.size() - 5;
  const auto name = names.substr(5);
  return exact && name.size() <= 255 && is_visible(name) ? std::string(name) : "";
}

/// Of an extension with exactly one protocol in it that is no grease.
std::string only_protocol(std::string_view protocols) {
  if (protocols.size() < 4 || number(protocols, 0, 2) != protocols.size() - 2) return {};
  const auto name = protocols.substr(3);
  const bool exact = number(protocols, 2, 1) == name.size();
  return exact && name.size() > 2 && name.size() < 255 && is_visible(name) && !name.contains(',') ? std::string(name)
                                                                                                  : "";
}

}  // namespace

void try_input(std::string_view input) {
  tls::ClientHello whole, cut;
  const bool wants_more = whole.feed(input);
  bool cut_wants_more = true;
  in_pieces(input, [&](std::string_view piece) { return cut_wants_more = cut.feed(piece); });
  must(whole.sni() == cut.sni() && whole.alpn() == cut.alpn(), "however it is cut", whole.sni(), cut.sni());
  must(wants_more == cut_wants_more, "however it is cut, it is as far");
  for (const auto& said : {whole.sni(), whole.alpn()})
    must(said.size() <= 255 && is_visible(said), "short and visible");
  must(!wants_more || (whole.sni().empty() && whole.alpn().empty()), "nothing is said of half a hello");

  const Second second = ask_openssl(input);
  const bool in_one_record = input.size() >= 9 && number(input, 3, 2) + 5 <= input.size() && input[1] == 3 &&
                             number(input, 6, 3) + 4 <= number(input, 3, 2);
  if (!second.understood || !in_one_record) return;
  must(only_name(second.names).empty() || whole.sni() == only_name(second.names), "the same name", whole.sni(),
       second.names);
  must(only_protocol(second.protocols).empty() || whole.alpn() == only_protocol(second.protocols), "the same protocol",
       whole.alpn(), second.protocols);
}

}  // namespace penstock::fuzz
