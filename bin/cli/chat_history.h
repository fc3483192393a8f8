#pragma once

#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/embedded/message.h>

namespace zllm::cli {

// {"messages": [{"role", "content"}, ...]}; an existing file is replaced only when all is written.
Status save_history(const std::string& path, const std::vector<Message>& messages);
// Refuses roles other than system (first), user and assistant.
Result<std::vector<Message>> load_history(const std::string& path);

}  // namespace zllm::cli
