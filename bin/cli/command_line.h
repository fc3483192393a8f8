#pragma once

#include <vector>

#include "command.h"

namespace zllm::cli {

// Parses the arguments and runs what they name; the exit code: 0 only when all went well, 2 for a
// wrong command line, 128 + signal when a signal ended it, 1 for every other error.
int run_command_line(std::vector<Command> commands, int argc, char **argv);

}  // namespace zllm::cli
