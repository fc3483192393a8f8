#pragma once

#include "command.h"

namespace zllm::cli {

// zllm serve: models over HTTP until a signal ends it.
Command serve_command();

}  // namespace zllm::cli
