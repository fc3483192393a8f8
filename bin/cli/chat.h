#pragma once

#include "command.h"

namespace zllm::cli {

Command chat_command();

}  // namespace zllm::cli
