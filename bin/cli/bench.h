#pragma once

#include "command.h"

namespace zllm::cli {

Command bench_command();

}  // namespace zllm::cli
