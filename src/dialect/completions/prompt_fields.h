#pragma once

#include <cstddef>
#include <vector>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::completions {

constexpr std::size_t kMaxPrompts = 128;  // each is a request of its own

// The member "prompt": a text, texts, ids, or arrays of ids; none of them empty.
std::vector<RawPrompt> read_prompts(FieldReader& fields);

}  // namespace zllm::dialect::completions
