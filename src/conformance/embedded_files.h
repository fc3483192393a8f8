#pragma once

#include <span>
#include <string_view>

namespace zllm::conformance {

// A file of the repository that the build carries.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_cases();    // test/conformance/*.json
std::span<const EmbeddedFile> embedded_records();  // test/conformance/record/*.json

}  // namespace zllm::conformance
