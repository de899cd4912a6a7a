// SPDX-License-Identifier: Apache-2.0
// The tests' origin server: threads and blocking sockets, one thread a connection. It records what it sees (order of
// arrival, how many at once, the exact bytes), complains of anything malformed, and misbehaves by script. A script is
// called once a request, on the connection's thread, when the head is there; the body is the script's to read.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "system/wire.h"

namespace penstock::trial {

/// One request as it arrived.
struct Seen {
  std::string head;  ///< exact bytes, with the empty line
  std::string method, target;
  Lines fields;
  std::string body;  ///< decoded
  Lines trailers;
  Framing framing;
  bool whole = false;          ///< the body came to its end
  std::size_t connection = 0;  ///< which of the origin's connections brought it, from 1
  std::size_t nth = 0;         ///< its place on that connection, from 1
  std::string peer;            ///< whom the client's certificate names; empty: it has shown none
  Moment at{};                 ///< when its head was whole
};

class Origin;

/// One request under a script's hands.
class Visit {
 public:
  const Seen& request() const { return seen_; }

  /// Reads the body to its end; false where it was cut. With a sink it is not kept.
  bool read_body();
  bool read_body(const Reader::Sink& sink);

  /// False where the proxy is gone. The request counts as in progress until last(), answer(), close() or reset().
  bool write(std::string_view bytes);
  bool last(std::string_view bytes);
  /// A whole answer with a Content-Length; `lines` are more header lines, each with its CRLF.
  bool answer(int status, std::string_view body = {}, std::string_view lines = {});
  void close();
  /// Over TLS: without its good-bye.
  void cut();
  void reset();

  /// Waits until the test calls Origin::release() once for it.
  void hold();
  /// Waits until the proxy has ended this connection; false if it does not.
  bool sees_the_end();

 private:
  friend class Origin;
  Visit(Origin& origin, Socket& socket, Reader& reader, Seen seen, std::size_t index)
      : origin_(origin), socket_(socket), reader_(reader), seen_(std::move(seen)), index_(index) {}
  void done();

  Origin& origin_;
  Socket& socket_;
  Reader& reader_;
  Seen seen_;
  std::size_t index_;
  bool counted_ = true;
  bool body_read_ = false;
};

class Origin {
 public:
  using Script = std::function<void(Visit&)>;

  /// Answers 200 with "hello" to everything that no script is given for. `wrap` puts a layer on each connection, such
  /// as that of test::TlsServer; url() says https then.
  explicit Origin(test::Wrap wrap = {});
  ~Origin();
  Origin(const Origin&) = delete;

  std::uint16_t port() const { return port_; }
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url(std::string_view path = "/") const { return url_at(host(), path); }
  /// The same under a name: `name:PORT`.
  std::string url_at(const std::string& authority, std::string_view path = "/") const {
    return (wrap_ ? "https://" : "http://") + authority + std::string(path);
  }

  /// For a path (without query), or for everything else. Before the requests come.
  void on(std::string path, Script script);
  void otherwise(Script script);

  /// Lets `count` requests that hold(), now or later, go on.
  void release(std::size_t count = 1);
  void release_all();

  /// Everything so far, in order of arrival. A request is there from its head on; its body when the script has read it.
  std::vector<Seen> seen() const;
  std::size_t count() const;
  bool await(std::size_t requests, Clock::duration patience = kPatience) const;
  /// The largest number of requests in progress at any moment.
  std::size_t most_at_once() const;
  std::size_t connections() const;
  /// Ends all of them, as a restart does. Requests in progress end too.
  void hang_up();
  /// What was malformed in anything that arrived; a sound proxy leaves it empty.
  std::string complaint() const;

 private:
  friend class Visit;
  struct Connection {
    Socket socket;
    std::thread thread;
    std::size_t number = 0;
  };

  void accept();
  void serve(Connection& connection);
  /// False: the connection is over.
  bool serve_one(Connection& connection, Reader& reader, std::size_t nth);
  bool understand(Reader& reader, Seen& seen);
  Script script_for(const std::string& target) const;
  std::size_t arrive(const Seen& seen);
  void keep(std::size_t index, const Seen& seen);
  void leave();
  void complain(const std::string& text);

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<std::string, Script> scripts_;
  Script otherwise_;
  std::vector<Seen> seen_;
  std::size_t at_once_ = 0, most_at_once_ = 0, permits_ = 0;
  std::string complaint_;
  bool stopping_ = false;

  const test::Wrap wrap_;
  std::uint16_t port_ = 0;
  Socket listener_;
  std::list<Connection> connections_;
  std::thread acceptor_;
};

/// Scripts that many tests use.
namespace scripts {
/// Reads the body, then answers with this status and body.
Origin::Script answers(int status, std::string body, std::string lines = {});
/// `size` bytes of the pattern, with a Content-Length or in chunks.
Origin::Script sized(std::uint64_t size);
Origin::Script chunked(std::uint64_t size, std::size_t each);
/// Answers once it is released.
Origin::Script held(int status = 200, std::string body = "released");
/// Writes exactly these bytes once the request is whole, then closes or leaves the connection open.
Origin::Script says(std::string bytes, bool then_close = true);
/// Gives the body back, chunked.
Origin::Script echoes();
/// Answers as a server does that knows a connection after three steps of `NTLM` or `Negotiate`. The connection's number
/// is what it knows.
Origin::Script logs_in(const std::string& scheme);
}  // namespace scripts

}  // namespace penstock::trial
