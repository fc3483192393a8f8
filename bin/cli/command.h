#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

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
};

// A command whose options live in an Options object. describe lists them in the table.
template <class Options>
Command make_command(std::string name, std::string summary,
                     void (*describe)(Options&, OptionTable&), Status (*run)(const Options&),
                     Status (*check)(const Options&) = nullptr) {
  auto options = std::make_shared<Options>();
  Command command;
  command.name = std::move(name);
  command.summary = std::move(summary);
  describe(*options, command.options);
  command.run = [options, run] { return run(*options); };
  if (check != nullptr) {
    command.check = [options, check] { return check(*options); };
  }
  return command;
}

}  // namespace zllm::cli
