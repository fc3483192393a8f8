#include <zllm/runtime/gqa_moe/sample.h>

#include <zllm/runtime/block/sample.h>
#include <zllm/runtime/gqa_moe/gqa_moe.h>

namespace zllm::runtime::gqa_moe {

std::vector<backend::OpKey> sample_requirements(encoding::Encoding encoding,
                                                const LoadOptions& options) {
  weight::GqaMoeModel model;
  model.spec.layers = 2;
  model.spec.hidden = block::kSampleHidden;
  model.ends = block::sample_ends(encoding);
  model.spec.query_heads = block::kSampleGqa.query_heads;
  model.spec.kv_heads = block::kSampleGqa.kv_heads;
  model.spec.head = block::kSampleGqa.head;
  model.spec.query_key_norm = true;
  model.spec.mixture = block::sample_mixture();
  for (std::uint32_t layer = 0; layer < model.spec.layers; ++layer) {
    auto& weights = model.layers.emplace_back();
    weights.attention = block::sample_weights(block::kSampleGqa, encoding);
    weights.mlp = block::sample_weights(model.spec.mixture, layer, encoding);
  }
  return requirements(model, {.first = 0, .end = model.spec.layers}, options);
}

}  // namespace zllm::runtime::gqa_moe
