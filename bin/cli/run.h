#pragma once

#include "command.h"

namespace zllm::cli {

Command run_command();

}  // namespace zllm::cli
