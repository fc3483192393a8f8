#pragma once

#include <functional>
#include <string>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::cli {

// Runs a program found in PATH with these arguments and no shell, its stdout sent to our stderr,
// and waits for it, calling `while_running` about ten times a second. A signal that is noted
// (signals.h) ends it, with Code::cancelled. An error when it cannot start or fails.
Status run_program(const std::vector<std::string>& arguments,
                   const std::function<void()>& while_running = {});

}  // namespace zllm::cli
