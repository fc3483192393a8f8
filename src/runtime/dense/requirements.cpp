#include <zllm/encoding/encoding.h>
#include <zllm/runtime/dense/dense_model.h>

namespace zllm::runtime::dense {
namespace {

using backend::Op;
using backend::OpKey;
using encoding::Encoding;
using encoding::WeightView;

}  // namespace

std::vector<OpKey> requirements(const weight::DenseDecoderModel& model,
                                const LoadOptions& options) {
  const model_spec::DenseDecoder& spec = model.spec;
  std::vector<OpKey> keys;
  const auto linear = [&](const WeightView& view) {
    keys.push_back(
        {.op = Op::linear, .encoding = view.encoding, .rows = view.rows, .columns = view.columns});
  };
  const WeightView& embedding = model.weights.embedding;
  keys.push_back({.op = Op::embed,
                  .encoding = embedding.encoding,
                  .rows = embedding.rows,
                  .columns = embedding.columns});
  keys.push_back({.op = Op::norm, .columns = spec.hidden});
  if (spec.query_key_norm) {
    keys.push_back({.op = Op::norm, .columns = spec.head});
  }
  keys.push_back({.op = Op::rotate, .columns = spec.head});
  keys.push_back(
      {.op = Op::paged_gqa,
       .encoding = options.kv_type == backend::KvType::f32 ? Encoding::f32 : Encoding::f16,
       .rows = spec.query_heads,
       .columns = spec.head});
  keys.push_back({.op = Op::gated_activation, .columns = spec.intermediate});
  for (const weight::DenseDecoderLayer& layer : model.weights.layers) {
    for (const WeightView *view : {&layer.query, &layer.key, &layer.value, &layer.output,
                                   &layer.gate, &layer.up, &layer.down}) {
      linear(*view);
    }
  }
  linear(model.weights.head);
  return keys;
}

}  // namespace zllm::runtime::dense
