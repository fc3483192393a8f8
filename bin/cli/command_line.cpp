#include "command_line.h"

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>

#include <zllm/base/text.h>

#include "output.h"
#include "signals.h"
#include "yaml_config.h"

namespace zllm::cli {
namespace {

constexpr int kUsageError = 2;
constexpr int kSignalExit = 128;  // the shell's convention

// What the command line says about one command, before anything is set.
struct Given {
  Command command;
  CLI::App *app = nullptr;
  std::vector<std::vector<std::string>> values;  // for each option; CLI11 writes into it
  std::string config;
  bool is_check_only = false;
  bool is_print_only = false;
};

void bind_option(CLI::App& app, const Option& option, std::vector<std::string>& values) {
  const std::string flag = option.is_positional ? option.name : "--" + option.name;
  if (option.kind == OptionKind::toggle) {
    app.add_flag_callback(flag, [&values] { values = {"true"}; }, option.help);
    return;
  }
  CLI::Option *bound = app.add_option(
      flag,
      [&values](const CLI::results_t& results) {
        values = results;
        return true;
      },
      option.help);
  bound->type_name(option.value)->expected(1);
  if (option.is_list) {
    bound->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)->allow_extra_args(false);
  }
}

void bind_command(CLI::App& program, Given& given) {
  given.app = program.add_subcommand(given.command.name, given.command.summary);
  given.values.resize(given.command.options.options().size());
  std::size_t index = 0;
  for (const Option& option : given.command.options.options()) {
    bind_option(*given.app, option, given.values[index++]);
  }
  if (given.command.takes_config) {
    given.app->add_option("--config", given.config, "Set options from a YAML file; flags override")
        ->type_name("FILE");
    given.app->add_flag("--check-config", given.is_check_only, "Check all options, run nothing");
    given.app->add_flag("--print-effective-config", given.is_print_only,
                        "Print all options as YAML, run nothing");
  }
}

Status apply_flags(const Given& given) {
  std::size_t index = 0;
  for (const Option& option : given.command.options.options()) {
    const std::vector<std::string>& values = given.values[index++];
    if (option.is_list && !values.empty()) {
      option.clear();
    }
    for (const std::string& value : values) {
      Status status = option.set(value);
      if (!status.ok()) {
        const std::string name = option.is_positional ? option.name : "--" + option.name;
        return Error{status.error().code, concat(name, ": ", status.error().message)};
      }
    }
  }
  return {};
}

// The options as they hold for this run: defaults, then the file, then the flags.
Status set_options(const Given& given) {
  if (!given.config.empty()) {
    ZLLM_TRY(apply_yaml(given.config, given.command.options));
  }
  ZLLM_TRY(apply_flags(given));
  return given.command.check ? given.command.check() : Status();
}

int finish(const Status& status) {
  if (status.ok()) {
    return 0;
  }
  if (status.error().code == Code::cancelled && last_noted_signal() != 0) {
    return kSignalExit + last_noted_signal();
  }
  warn(status.error().message);
  return 1;
}

int run(const Given& given) {
  const Status options = set_options(given);
  if (!options.ok()) {
    warn(options.error().message);
    return kUsageError;
  }
  if (given.is_print_only) {
    return finish(write_out(effective_yaml(given.command.options)));
  }
  return given.is_check_only ? 0 : finish(given.command.run());
}

// The first argument that nothing takes, with the nearest one that something would take.
std::string unknown_argument(const std::string& argument, const CLI::App& program,
                             const std::deque<Given>& commands) {
  std::vector<std::string> known;
  const auto chosen =
      std::ranges::find_if(commands, [](const Given& given) { return given.app->parsed(); });
  if (chosen == commands.end()) {
    for (const Given& given : commands) {
      known.push_back(given.command.name);
    }
  }
  const CLI::App& app = chosen == commands.end() ? program : *chosen->app;
  for (const CLI::Option *option : app.get_options()) {
    known.push_back(option->get_name());
  }
  const bool is_option = argument.starts_with("-");
  const std::string_view kind =
      is_option ? "unknown option "
                : (chosen == commands.end() ? "unknown command " : "unexpected ");
  const std::string name = argument.substr(0, argument.find('='));
  const std::string_view near = nearest(name, known);
  return concat(kind, quote(argument), near.empty() ? "" : concat("; did you mean ", near, "?"));
}

int report(const CLI::ParseError& error, const CLI::App& program,
           const std::deque<Given>& commands) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return program.exit(error);  // --help and --version
  }
  const std::vector<std::string> rest = program.remaining(true);
  warn(rest.empty() ? error.what() : unknown_argument(rest.front(), program, commands));
  return kUsageError;
}

}  // namespace

int run_command_line(std::vector<Command> commands, int argc, char **argv) {
  exit_on_signals();
  CLI::App program{"zllm: language models on this machine", "zllm"};
  program.set_version_flag("--version", "zllm " ZLLM_VERSION);
  program.require_subcommand(0, 1);
  std::deque<Given> given;  // elements stay in place: CLI11 writes into them
  for (Command& command : commands) {
    given.emplace_back().command = std::move(command);
    bind_command(program, given.back());
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report(error, program, given);
  }
  for (const Given& one : given) {
    if (one.app->parsed()) {
      return run(one);
    }
  }
  warn("no command given\n\n" + program.help());
  return kUsageError;
}

}  // namespace zllm::cli
