// SPDX-License-Identifier: Apache-2.0
// The command line: parsed with CLI11, which only this file uses, then the command is called. Exit code 2 for an
// invalid command line.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <iostream>

#include "app/commands.h"
#include "config/suggestion.h"

namespace {

using penstock::app::version_line;

struct Given {
  std::string config_file, file, format, admin;
  std::vector<std::string> url;  // or a method and the URL
  std::vector<std::string> command, help_for, names;
  penstock::app::ExecOptions exec;
  penstock::app::PermitCommand permit;
  bool live = false;
  penstock::app::TopOptions top;
  penstock::app::AheadOptions ahead;
  penstock::app::SimulateOptions simulate;
};

void take_config(CLI::App& command, Given& given) {
  command.add_option("--config", given.config_file, "YAML; without it the built-in defaults")->option_text("FILE");
}

void take_admin(CLI::App& command, Given& given) {
  take_config(command, given);
  command.add_option("--admin", given.admin, "its admin port; without it the one of the configuration")
      ->option_text("URL")
      ->excludes("--config");
}

template <typename Body>
CLI::App* add_command(CLI::App& to, const char* name, const char* what, int& code, Body body) {
  auto* command = to.add_subcommand(name, what);
  command->callback([body, &code] { code = body(); });
  return command;
}

// Its options with a value, besides --config. --summary has one only where it is this word.
constexpr std::array<std::string_view, 8> kWithValue{"--admin", "--config", "--events", "--limit",
                                                     "--max",   "--preset", "--redis",  "--report"};
constexpr std::string_view kSummary = "--summary", kJson = "json";

int exec(Given& given) {
  given.exec.config_file = given.config_file;
  return penstock::app::exec(given.exec, given.command);
}

void take_hosts(CLI::App& command, penstock::app::HostLimits& hosts) {
  auto* presets =
      command.add_option("--preset", hosts.presets, "Without a file: these APIs, with their published limits");
  auto* limits = command.add_option("--limit", hosts.limits, "Without a file: a host, as in api.example.com=25/s");
  auto* most = command.add_option("--max", hosts.most, "Likewise: at most so many requests in flight");
  presets->option_text("NAME,...")->delimiter(',');
  limits->option_text("PATTERN=RATE");
  most->option_text("PATTERN=N");
  for (auto* option : {presets, limits, most}) option->allow_extra_args(false)->excludes("--config");
  command.add_option("--redis", hosts.redis, "Share these limits through this Redis; else $PENSTOCK_REDIS_URL")
      ->option_text("URL");
}

void take_summary(CLI::App& command, penstock::app::ExecOptions& into) {
  using Summary = penstock::app::ExecOptions::Summary;
  const auto take = [&into](const std::string& text) { into.summary = text == kJson ? Summary::json : Summary::text; };
  command
      .add_option_function<std::string>("--summary", take, "Say at the end what its requests came to; json: as JSON")
      ->option_text("[json]")
      ->expected(0, 1);
  command.add_flag_callback(
      "--no-summary", [&into] { into.summary = Summary::no; }, "Say nothing at the end, on a terminal either");
  command.add_option("--events", into.events, "Tell there of each request, as JSON lines")->option_text("FILE");
  command.add_option("--admin", into.admin, "Open an admin port there for as long as it runs; else there is none")
      ->option_text("ADDRESS:PORT");
  auto* print =
      command.add_flag("--print", into.print, "Run nothing: print what the command would find in its environment");
  const auto report = [&into](const std::string& file) { into.report = file; };
  command
      .add_option_function<std::string>("--report", report,
                                        "Write the admin port's page as it is at the end, to open from disk")
      ->option_text("FILE.html")
      ->excludes(print);
}

void add_exec(CLI::App& program, Given& given, int& code) {
  auto* command =
      add_command(program, "exec", "Run a command with a proxy of its own", code, [&] { return exec(given); });
  take_config(*command, given);
  take_hosts(*command, given.exec.hosts);
  take_summary(*command, given.exec);
  command->add_option("command", given.command, "what to run, with its own options")->option_text("COMMAND...");
  command->footer("As in: penstock exec curl http://example.com/\n");
}

void add_permit(CLI::App& program, Given& given, int& code) {
  auto& options = given.permit;
  auto* command = add_command(program, "permit", "Run a command while it holds a permit of a running proxy", code, [&] {
    options.config_file = given.config_file;
    if (given.names.empty()) return penstock::app::permit(options, given.command);
    return std::cerr << "penstock: permit runs what stands behind --, as in penstock permit db -- COMMAND\n", 2;
  });
  command->add_option("upstream", options.upstream, "its name; it has permits: true")
      ->option_text("UPSTREAM")
      ->required();
  command->add_option("--weight", options.weight, "What it costs where limits count units; 1 unless said")
      ->check(CLI::Range(1, 1'000'000))
      ->option_text("N");
  command->add_option("--max-wait", options.max_wait, "Wait no longer for it, as in 30s")->option_text("DURATION");
  command->add_option("--group", options.group, "Its group, where the upstream has header:Penstock-Group")
      ->option_text("GROUP");
  take_config(*command, given);
  command->add_option("--proxy", options.proxy, "The proxy; else $PENSTOCK_PROXY, else that of the configuration")
      ->option_text("URL");
  command->add_option("command", given.names, "what to run, with its own options")->option_text("-- COMMAND...");
  command->footer("As in: penstock permit db -- ./migrate\n");
}

void take_format(CLI::App& command, Given& given, const std::vector<std::string>& formats, const char* what) {
  command.add_option("--format", given.format, what)->check(CLI::IsMember(formats))->option_text("FORMAT");
}

/// The file may stand alone, or behind --config.
void add_run(CLI::App& program, Given& given, int& code) {
  auto* command =
      add_command(program, "run", "Run the proxy", code, [&] { return penstock::app::run(given.config_file); });
  take_config(*command, given);
  command->add_option("file", given.config_file, "The same without --config")
      ->option_text("FILE")
      ->excludes("--config");
}

void add_check(CLI::App& program, Given& given, int& code) {
  auto* command = add_command(program, "check", "Say everything that is wrong with a configuration", code,
                              [&] { return penstock::app::check(given.file, given.format, given.live); });
  command->add_option("file", given.file, "YAML")->option_text("FILE")->required();
  command->add_flag("--live", given.live, "Also connect to its Redis, and say what is found there");
  take_format(*command, given, {"text", "json"}, "text, or json for programs");
}

void add_env(CLI::App& program, Given& given, int& code) {
  auto* command = add_command(program, "env", "Print the proxy variables: eval \"$(penstock env)\"", code,
                              [&] { return penstock::app::env(given.config_file, given.format); });
  take_config(*command, given);
  take_format(*command, given, {"sh", "fish", "dotenv", "docker"}, "sh, fish, dotenv, or docker for its --env-file");
}

/// The help of the program, or of the command whose words these are. App::help() would be that of `help` itself.
int help(const CLI::App& program, const std::vector<std::string>& words) {
  const auto* of = &program;
  std::string name = of->get_name();
  for (const auto& word : words) {
    const auto below = of->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (below.empty()) return std::cerr << "penstock: unknown command '" << word << "'; see penstock help\n", 2;
    of = below.front();
    name += " " + word;
  }
  std::cout << of->get_formatter()->make_help(of, name, CLI::AppFormatMode::Normal);
  return 0;
}

void add_resume(CLI::App& program, Given& given, int& code) {
  auto* command = add_command(program, "resume", "End the pauses that an upstream has asked for", code,
                              [&] { return penstock::app::resume(given.config_file, given.admin, given.file); });
  take_admin(*command, given);
  command->add_option("upstream", given.file, "its name, or host:port where it has none")
      ->option_text("UPSTREAM")
      ->required();
}

void add_ahead(CLI::App& program, Given& given, int& code) {
  auto* command =
      add_command(program, "ahead", "Say when a request would leave a running proxy that came now", code, [&] {
        given.ahead.config_file = given.config_file;
        given.ahead.admin = given.admin;
        return penstock::app::ahead(given.ahead);
      });
  take_admin(*command, given);
  command->add_option("--weight", given.ahead.weight, "Its Penstock-Weight")->option_text("N");
  command->add_option("--cost", given.ahead.cost, "What it is estimated to cost, where limits count that")
      ->option_text("N");
  command->add_option("--header", given.ahead.headers, "One that a route or `group` looks at; may stand several times")
      ->option_text("NAME:VALUE")
      ->allow_extra_args(false);
  command->add_option("url", given.ahead.wanted, "as of `explain`; GET unless said")
      ->option_text("[METHOD] URL")
      ->expected(1, 2)
      ->required();
}

void add_top(CLI::App& program, Given& given, int& code) {
  auto* command = add_command(program, "top", "Show what waits in a running proxy, and why, once a second", code, [&] {
    given.top.config_file = given.config_file;
    given.top.admin = given.admin;
    return penstock::app::top(given.top);
  });
  take_admin(*command, given);
  command->add_flag("--once", given.top.once, "Print it once, as lines without colours");
  command->add_flag("--json", given.top.json, "Print the admin port's /status, each on one line");
}

void add_ca(CLI::App& program, Given& given, int& code) {
  using namespace penstock::app;
  auto* ca = program.add_subcommand("ca", "Make the authority of `https: intercept`, or say where it is");
  ca->require_subcommand(1);
  const auto& file = given.config_file;
  take_config(*add_command(*ca, "init", "Make it; never overwrites one", code, [&] { return ca_init(file); }), given);
  take_config(*add_command(*ca, "path", "Print where its certificate is", code, [&] { return ca_path(file); }), given);
}

void add_simulate(CLI::App& program, Given& given, int& code) {
  auto& options = given.simulate;
  auto* command = add_command(program, "simulate", "Say what other settings would have made of an event log", code,
                              [&] { return penstock::app::simulate(options); });
  command->add_option("--config", options.config_file, "The new settings, YAML")->option_text("FILE")->required();
  command->add_option("--old", options.old_file, "Those that held then, replayed as well")->option_text("FILE");
  command->add_option("--quota", options.quotas, "What an API lets pass, as in github=5000/h: counts what is beyond it")
      ->option_text("NAME=RATE")
      ->allow_extra_args(false);
  command->add_flag("--json", options.json, "As JSON, for programs");
  command->add_option("file", options.files, "event logs, of one process or of several; - for stdin")
      ->option_text("FILE...")
      ->required();
}

void add_commands(CLI::App& program, Given& given, int& code) {
  using namespace penstock::app;
  const auto add = [&](const char* name, const char* what, auto body) {
    return add_command(program, name, what, code, body);
  };
  add_run(program, given, code);
  add_check(program, given, code);
  auto* explaining = add("explain", "Say which upstream a URL belongs to, and why",
                         [&] { return explain(given.config_file, given.url); });
  take_config(*explaining, given);
  explaining
      ->add_option("url", given.url,
                   "such as http://example.com/path; without a scheme, https; @NAME: a permit. GET unless said")
      ->option_text("[METHOD] URL")
      ->expected(1, 2)
      ->required();
  add_env(program, given, code);
  add_exec(program, given, code);
  add_permit(program, given, code);
  take_config(*add("doctor", "Try which programs of this machine work with `https: intercept`",
                   [&] { return doctor(given.config_file); }),
              given);
  take_config(
      *add("healthcheck", "Ask a running proxy whether it is ready", [&] { return healthcheck(given.config_file); }),
      given);
  take_admin(*add("reload", "Have a running proxy read its file again, and say what is wrong with it",
                  [&] { return reload(given.config_file, given.admin); }),
             given);
  add_resume(program, given, code);
  add_ahead(program, given, code);
  add_top(program, given, code);
  add_simulate(program, given, code);
  add_ca(program, given, code);
  add("presets", "List the presets of well-known APIs, or show one", [&] { return presets(given.file); })
      ->add_option("name", given.file, "such as github")
      ->option_text("NAME");
  add("init", "Print a file with presets: penstock init github openai > penstock.yaml",
      [&] { return init(given.names); })
      ->add_option("names", given.names, "as `penstock presets` lists them")
      ->option_text("NAME...")
      ->required();
  add("schema", "Print the JSON schema of a configuration, for editors", [] { return schema(); });
  add("help", "Say what a command does, and its options", [&] { return help(program, given.help_for); })
      ->add_option("command", given.help_for, "such as exec, or ca init")
      ->option_text("COMMAND");
}

// Handles a word for which CLI11 would only say "a subcommand is required". True: it is a command.
bool is_command(const CLI::App& program, const std::string& word) {
  std::vector<std::string_view> known;
  for (const auto* command : program.get_subcommands({})) known.push_back(command->get_name());
  if (word.starts_with('-') || std::find(known.begin(), known.end(), word) != known.end()) return true;
  const auto meant = penstock::config::nearest(word, known);
  std::cerr << "penstock: unknown command '" << word << "'"
            << (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; see penstock --help") << '\n';
  return false;
}

bool are_commands(const CLI::App& program, int count, char** arguments) {
  if (!is_command(program, arguments[1])) return false;
  return count < 3 || arguments[1] != std::string_view("ca") || is_command(*program.get_subcommand("ca"), arguments[2]);
}

/// For words that no command takes: the option that was meant, if it was one.
int refuse_rest(const CLI::App& program) {
  const auto commands = program.get_subcommands();
  const auto& command = commands.empty() ? program : *commands.back();
  const auto rest = program.remaining(true);
  const auto& word = rest.empty() ? std::string() : rest.front();
  std::vector<std::string> names;
  for (const auto* option : command.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  const auto name = word.substr(0, word.find('='));
  const auto meant = word.starts_with("--") ? penstock::config::nearest(name, known) : std::nullopt;
  std::cerr << "penstock: " << command.get_name() << " does not take '" << word << "'"
            << (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; see penstock help " + command.get_name())
            << '\n';
  return 2;
}

// Where the command for `exec` begins: at the first word that is neither an option nor the value of one.
char** end_of_options(char** word, char** last) {
  const auto is = [&](char** at, std::string_view text) { return at != last && *at == text; };
  while (word != last && **word == '-' && !is(word, "--")) {
    const bool takes_one = std::ranges::find(kWithValue, *word) != kWithValue.end();
    const bool has_value =
        takes_one ? word + 1 != last && !is(word + 1, "--") : is(word, kSummary) && is(word + 1, kJson);
    word += has_value ? 2 : 1;
  }
  return word;
}

// The command for `exec` or `permit` is removed before CLI11 could interpret it. A -- before that of `exec` is needed
// only where its name begins with a dash; that of `permit` is what stands behind one.
std::vector<std::string> take_command(int& count, char** arguments) {
  const std::string_view name = count < 2 ? "" : arguments[1];
  if (name != "exec" && name != "permit") return {};
  char** const last = arguments + count;
  char** const end =
      name == "exec" ? end_of_options(arguments + 2, last) : std::find(arguments + 2, last, std::string_view("--"));
  count = static_cast<int>(end - arguments);
  return {end != last && *end == std::string_view("--") ? end + 1 : end, last};
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App program{"Penstock: an HTTP proxy on this machine that lets requests out no faster than upstreams can take"};
  program.name("penstock");
  program.set_version_flag("--version", version_line(), "Print the version and the commit");
  program.require_subcommand(1);
  Given given;
  given.command = take_command(count, arguments);
  int code = 0;
  add_commands(program, given, code);
  if (count < 2) return std::cerr << program.help(), 2;
  if (!are_commands(program, count, arguments)) return 2;
  try {
    program.parse(count, arguments);
  } catch (const CLI::ExtrasError&) {
    return refuse_rest(program);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? 0 : 2;
  }
  return code;
}
