#pragma once

#include <functional>
#include <memory>
#include <string>

#include <zllm/base/result.h>

#include "option_table.h"

namespace zllm::cli {

// A command of the program: its options and what it does once they are set.
struct Command {
  std::string name;
  std::string summary;
  OptionTable options;
  bool takes_config = false;      // --config, --check-config, --print-effective-config
  std::function<Status()> check;  // of the options together; optional
  std::function<Status()> run;    // what ends by a signal fails with Code::cancelled
  std::shared_ptr<void> state;    // owns what the options write to
};

// A command whose options live in an Options object. describe(options, table) lists them.
template <class Options>
Command make_command(std::string name, std::string summary,
                     void (*describe)(Options&, OptionTable&), Status (*run)(const Options&)) {
  auto options = std::make_shared<Options>();
  Command command{.name = std::move(name), .summary = std::move(summary)};
  describe(*options, command.options);
  command.run = [options, run] { return run(*options); };
  command.state = options;
  return command;
}

}  // namespace zllm::cli
