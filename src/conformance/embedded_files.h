#pragma once

#include <span>

#include <zllm/base/embedded_file.h>

namespace zllm::conformance {

std::span<const EmbeddedFile> embedded_cases();    // test/conformance/*.json
std::span<const EmbeddedFile> embedded_records();  // test/conformance/record/*.json

}  // namespace zllm::conformance
