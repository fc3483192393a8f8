#include <zllm/runtime/dense/sample.h>

#include <zllm/runtime/block/sample.h>
#include <zllm/runtime/dense/dense_model.h>

namespace zllm::runtime::dense {

std::vector<backend::OpKey> sample_requirements(encoding::Encoding encoding,
                                                const LoadOptions& options) {
  weight::DenseDecoderModel model;
  model.spec.layers = 1;
  model.spec.hidden = block::kSampleHidden;
  model.ends = block::sample_ends(encoding);
  model.spec.query_heads = block::kSampleGqa.query_heads;
  model.spec.kv_heads = block::kSampleGqa.kv_heads;
  model.spec.head = block::kSampleGqa.head;
  model.spec.query_key_norm = true;
  model.spec.intermediate = block::kSampleIntermediate;
  auto& weights = model.layers.emplace_back();
  weights.attention = block::sample_weights(block::kSampleGqa, encoding);
  weights.mlp = block::sample_mlp(model.spec.intermediate, encoding);
  return requirements(model, {.first = 0, .end = model.spec.layers}, options);
}

}  // namespace zllm::runtime::dense
