#pragma once

#include <cstdint>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/metadata_reader.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// How many tokens a GGUF file has. All the places that tell it must agree: <arch>.vocab_size, the
// tokenizer's list, whose tokens must differ and whose columns must be as long, and the rows of
// the embedding.
Result<std::uint32_t> vocabulary_from_metadata(const MetadataReader& reader,
                                               const TensorTable& tensors);

}  // namespace zllm::weight
