#pragma once

#include <string>

#include <zllm/base/json.h>
#include <zllm/weight/container/gguf_metadata.h>

namespace zllm::cli {

// A metadata value for a terminal: one line, of arrays the first items and the count.
std::string metadata_text(const weight::GgufValue& value);
std::string metadata_text(const Json& value);

// The same as JSON; long arrays become {"items": count, "first": [...]}. Strings that are not
// UTF-8 get replacement characters.
Json metadata_json(const weight::GgufValue& value);

}  // namespace zllm::cli
