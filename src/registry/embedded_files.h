#pragma once

#include <span>

#include <zllm/base/embedded_file.h>

namespace zllm::registry {

std::span<const EmbeddedFile> embedded_model_records();  // test/model/record/*.json

}  // namespace zllm::registry
