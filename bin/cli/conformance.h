#pragma once

#include "command.h"

namespace zllm::cli {

Command conformance_command();

}  // namespace zllm::cli
