#pragma once

#include "command.h"

namespace zllm::cli {

Command capabilities_command();

}  // namespace zllm::cli
