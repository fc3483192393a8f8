#include <zllm/encoding/encoding.h>
#include <zllm/runtime/dense/dense_model.h>

namespace zllm::runtime::dense {
namespace {

template <class Visit>
void for_each_matrix(const weight::DenseDecoderModel& model, Visit visit) {
  for (const weight::DenseDecoderLayer& layer : model.weights.layers) {
    for (const encoding::WeightView *view : {&layer.query, &layer.key, &layer.value, &layer.output,
                                             &layer.gate, &layer.up, &layer.down}) {
      visit(*view);
    }
  }
  visit(model.weights.head);
}

}  // namespace

std::uint64_t matrix_bytes_per_token(const weight::DenseDecoderModel& model) {
  std::uint64_t bytes = 0;
  for_each_matrix(model, [&](const encoding::WeightView& view) { bytes += view.bytes.size(); });
  return bytes;
}

std::uint64_t parameter_count(const weight::DenseDecoderModel& model) {
  std::uint64_t count = 0;
  for_each_matrix(model,
                  [&](const encoding::WeightView& view) { count += view.rows * view.columns; });
  if (!model.spec.tied_embeddings) {
    count += model.weights.embedding.rows * model.weights.embedding.columns;
  }
  const std::uint64_t norms = 2 * std::uint64_t{model.spec.layers} + 1;
  return count + norms * model.spec.hidden;
}

std::uint64_t weight_bytes(const weight::DenseDecoderModel& model) {
  std::uint64_t bytes = matrix_bytes_per_token(model);
  if (!model.spec.tied_embeddings) {
    bytes += model.weights.embedding.bytes.size();
  }
  return bytes;
}

std::uint64_t workspace_bytes(const model_spec::DenseDecoder& spec, std::uint32_t rows) {
  const std::uint64_t heads = 2 * (std::uint64_t{spec.query_heads} + spec.kv_heads) * spec.head;
  const std::uint64_t columns = 2 * std::uint64_t{spec.hidden} + heads +
                                3 * std::uint64_t{spec.intermediate} + spec.rope.rotated;
  const std::uint64_t logits = std::uint64_t{kLogitRows} * spec.vocabulary;
  return (columns * rows + logits) * sizeof(float);
}

}  // namespace zllm::runtime::dense
