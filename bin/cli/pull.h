#pragma once

#include "command.h"

namespace zllm::cli {

Command pull_command();

}  // namespace zllm::cli
