#pragma once

#include "command.h"

namespace zllm::cli {

Command doctor_command();

}  // namespace zllm::cli
