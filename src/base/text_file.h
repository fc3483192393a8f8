#pragma once

#include <cstddef>
#include <string>

#include <zllm/base/result.h>

namespace zllm {

constexpr std::size_t kTextFileLimit = 512 * 1024 * 1024;  // 20 times the largest tokenizer.json

// A copy of a whole regular file. Refuses larger files than limit bytes before memory is taken.
Result<std::string> read_text_file(const std::string& path, std::size_t limit = kTextFileLimit);

}  // namespace zllm
