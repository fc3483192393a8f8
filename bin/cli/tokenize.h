#pragma once

#include "command.h"

namespace zllm::cli {

Command tokenize_command();

}  // namespace zllm::cli
