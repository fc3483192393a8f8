#include <zllm/weight/assembly/gqa_attention.h>

#include <zllm/base/text.h>

namespace zllm::weight {

GqaWeights bind_gqa(WeightBinder& binder, std::string_view prefix, const GqaNames& names,
                    const GqaShape& shape) {
  const std::uint64_t queries = shape.query_heads * shape.head;
  const std::uint64_t keys = shape.kv_heads * shape.head;
  const auto matrix = [&](std::string_view stem, std::uint64_t rows, std::uint64_t columns) {
    return binder.matrix(concat(prefix, stem, ".weight"), rows, columns);
  };
  const auto bias = [&](std::string_view stem, std::uint64_t size) {
    return binder.vector(concat(prefix, stem, ".bias"), size);
  };
  GqaWeights weights;
  weights.query = matrix(names.query, queries, shape.hidden);
  weights.key = matrix(names.key, keys, shape.hidden);
  weights.value = matrix(names.value, keys, shape.hidden);
  weights.output = matrix(names.output, shape.hidden, queries);
  if (shape.qkv_bias) {
    weights.query_bias = bias(names.query, queries);
    weights.key_bias = bias(names.key, keys);
    weights.value_bias = bias(names.value, keys);
  }
  if (shape.output_bias) {
    weights.output_bias = bias(names.output, shape.hidden);
  }
  if (shape.query_key_norm) {
    weights.query_norm = binder.vector(concat(prefix, names.query_norm, ".weight"), shape.head);
    weights.key_norm = binder.vector(concat(prefix, names.key_norm, ".weight"), shape.head);
  }
  return weights;
}

}  // namespace zllm::weight
