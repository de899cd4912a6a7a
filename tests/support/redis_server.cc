// SPDX-License-Identifier: Apache-2.0
// A child process, and hiredis' blocking calls.
#include "support/redis_server.h"

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace penstock::test {

namespace {

using namespace std::chrono_literals;
constexpr auto kRedisPatience = 60s;
constexpr timeval kAnswerWithin{.tv_sec = 10, .tv_usec = 0};

std::string new_folder() {
  std::string path = (std::filesystem::temp_directory_path() / "penstock-redis-XXXXXX").string();
  if (!::mkdtemp(path.data())) throw std::runtime_error("mkdtemp " + path);
  return path;
}

pid_t spawn(const std::vector<std::string>& arguments, const std::string& log) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t test = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // the server dies with the test process
  if (::getppid() != test) ::_exit(127);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(file, 1), ::dup2(file, 2);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

RedisReply::Kind kind_of(int type) {
  switch (type) {
    case REDIS_REPLY_STRING: return RedisReply::Kind::text;
    case REDIS_REPLY_STATUS: return RedisReply::Kind::status;
    case REDIS_REPLY_ERROR: return RedisReply::Kind::error;
    case REDIS_REPLY_INTEGER: return RedisReply::Kind::integer;
    case REDIS_REPLY_ARRAY: return RedisReply::Kind::array;
    default: return RedisReply::Kind::none;
  }
}

RedisReply copy_of(const redisReply& reply) {
  RedisReply copy;
  copy.kind = kind_of(reply.type);
  copy.integer = reply.integer;
  if (reply.str) copy.text.assign(reply.str, static_cast<std::size_t>(reply.len));
  for (std::size_t i = 0; i < reply.elements; ++i) copy.items.push_back(copy_of(*reply.element[i]));
  return copy;
}

/// A server that becomes a master, or ceases to be one, ends connections; to write to one that has ended is a SIGPIPE.
bool has_ended(int fd) {
  pollfd there{.fd = fd, .events = POLLIN | POLLRDHUP, .revents = 0};
  return ::poll(&there, 1, 0) > 0;
}

}  // namespace

void RedisServer::Close::operator()(redisContext* connection) const { ::redisFree(connection); }

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)), folder_(new_folder()) {
  start();
}

RedisServer::~RedisServer() {
  stop(SIGKILL);
  std::filesystem::remove_all(folder_);
}

void RedisServer::start() {
  std::vector<std::string> arguments{"redis-server",
                                     "--bind",
                                     "127.0.0.1",
                                     "--port",
                                     std::to_string(port()),
                                     "--unixsocket",
                                     socket(),
                                     "--dir",
                                     folder_,
                                     "--save",
                                     "",
                                     "--appendonly",
                                     "no"};
  const bool has_file = !options_.empty() && options_[0].starts_with('/');
  if (has_file) arguments.insert(arguments.begin() + 1, options_[0]);
  arguments.insert(arguments.end(), options_.begin() + (has_file ? 1 : 0), options_.end());
  pid_ = spawn(arguments, folder_ + "/log");
  const auto give_up = std::chrono::steady_clock::now() + kRedisPatience;
  while (!answers()) {
    const bool ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (ended) pid_ = 0;
    if (ended || std::chrono::steady_clock::now() > give_up) throw std::runtime_error("redis-server does not start");
    std::this_thread::sleep_for(2ms);
  }
}

/// Any status is an answer to PING; with a password, NOAUTH is one too.
bool RedisServer::answers() {
  const RedisReply reply = run({"PING"});
  return reply.kind == RedisReply::Kind::status || reply.text.starts_with("NOAUTH");
}

void RedisServer::stop(int signal) {
  connection_.reset();
  if (pid_ == 0) return;
  ::kill(pid_, signal);
  ::kill(pid_, SIGCONT);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void RedisServer::pause() { ::kill(pid_, SIGSTOP); }
void RedisServer::resume() { ::kill(pid_, SIGCONT); }

RedisReply RedisServer::run(const std::vector<std::string_view>& command) {
  if (!connection_ || connection_->err || has_ended(connection_->fd)) {
    connection_.reset(::redisConnectUnixWithTimeout(socket().c_str(), kAnswerWithin));
    if (!connection_ || connection_->err) return {};
    ::redisSetTimeout(connection_.get(), kAnswerWithin);
  }
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const auto& word : command) texts.push_back(word.data()), sizes.push_back(word.size());
  const std::unique_ptr<void, void (*)(void*)> reply(
      ::redisCommandArgv(connection_.get(), static_cast<int>(command.size()), texts.data(), sizes.data()),
      ::freeReplyObject);
  return reply ? copy_of(*static_cast<redisReply*>(reply.get())) : RedisReply{};
}

}  // namespace penstock::test
