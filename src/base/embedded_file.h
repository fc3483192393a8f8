#pragma once

#include <string_view>

namespace zllm {

// A file of the repository that the build carries (cmake/Embed.cmake).
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

}  // namespace zllm
