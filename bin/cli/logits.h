#pragma once

#include "command.h"

namespace zllm::cli {

Command logits_command();

}  // namespace zllm::cli
