// SPDX-License-Identifier: Apache-2.0
// The command line: reads it with CLI11, which nobody else knows, and calls the command. Exit code 2 for a command line
// that makes no sense.
#include <CLI/CLI.hpp>

#include <iostream>

#include "app/commands.h"
#include "config/suggestion.h"

namespace {

using penstock::app::version_line;

struct Given {
  std::string config_file, file, url;
  std::vector<std::string> command;
};

void take_config(CLI::App& command, Given& given) {
  command.add_option("-c,--config", given.config_file, "YAML; without it the built-in defaults")->option_text("FILE");
}

void add_commands(CLI::App& program, Given& given, int& code) {
  using namespace penstock::app;
  const auto add = [&](const char* name, const char* what, auto body) {
    auto* command = program.add_subcommand(name, what);
    command->callback([body, &code] { code = body(); });
    return command;
  };
  take_config(*add("run", "Run the proxy", [&] { return run(given.config_file); }), given);
  add("check", "Say everything that is wrong with a configuration", [&] { return check(given.file); })
      ->add_option("file", given.file, "YAML")
      ->option_text("FILE")
      ->required();
  auto* explaining = add("explain", "Say which upstream a URL belongs to, and why",
                         [&] { return explain(given.config_file, given.url); });
  take_config(*explaining, given);
  explaining->add_option("url", given.url, "such as http://example.com/path")->option_text("URL")->required();
  take_config(
      *add("env", "Print the proxy variables: eval \"$(penstock env)\"", [&] { return env(given.config_file); }),
      given);
  auto* executing =
      add("exec", "Run a command with a proxy of its own", [&] { return exec(given.config_file, given.command); });
  take_config(*executing, given);
  executing->add_option("command", given.command, "and its arguments, after --")->option_text("CMD...")->required();
  take_config(
      *add("healthcheck", "Ask a running proxy whether it is ready", [&] { return healthcheck(given.config_file); }),
      given);
}

int no_command(const CLI::App& program) {
  const auto words = program.remaining();
  if (words.empty()) {
    std::cerr << program.help();
    return 2;
  }
  const std::string_view known[] = {"run", "check", "explain", "env", "exec", "healthcheck"};
  const auto meant = penstock::config::nearest(words.front(), known);
  std::cerr << "penstock: unknown command '" << words.front() << "'"
            << (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; see penstock --help") << '\n';
  return 2;
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App program{"Penstock: an HTTP proxy on this machine that lets requests out no faster than upstreams can take"};
  program.name("penstock");
  program.set_version_flag("--version", version_line(), "Print the version and the commit");
  program.require_subcommand(0, 1);  // CLI11's own words for none or an unknown one would not help
  program.allow_extras();
  Given given;
  int code = 0;
  add_commands(program, given, code);
  try {
    program.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  return program.get_subcommands().empty() ? no_command(program) : code;
}
