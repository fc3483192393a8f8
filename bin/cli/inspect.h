#pragma once

#include "command.h"

namespace zllm::cli {

Command inspect_command();

}  // namespace zllm::cli
