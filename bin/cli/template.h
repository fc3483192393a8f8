#pragma once

#include "command.h"

namespace zllm::cli {

Command template_command();

}  // namespace zllm::cli
