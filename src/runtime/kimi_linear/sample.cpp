#include <zllm/runtime/kimi_linear/sample.h>

#include <zllm/runtime/block/sample.h>
#include <zllm/runtime/kimi_linear/kimi_linear.h>

namespace zllm::runtime::kimi_linear {

std::vector<backend::OpKey> sample_requirements(encoding::Encoding encoding,
                                                const LoadOptions& options) {
  weight::KimiLinearModel model;
  model.spec.layers = 2;
  model.spec.hidden = block::kSampleHidden;
  model.ends = block::sample_ends(encoding);
  model.spec.is_linear = {true, false};
  model.spec.delta = block::sample_delta();
  model.spec.gate_rank = block::kSampleGateRank;
  model.spec.attention = block::sample_latent_attention();
  model.spec.mixture = block::sample_mixture();
  for (std::uint32_t layer = 0; layer < model.spec.layers; ++layer) {
    auto& weights = model.layers.emplace_back();
    weights.mlp = block::sample_weights(model.spec.mixture, layer, encoding);
  }
  model.layers[0].attention = block::sample_weights(model.spec.delta, encoding);
  model.layers[1].attention = block::sample_weights(model.spec.attention, encoding);
  return requirements(model, {.first = 0, .end = model.spec.layers}, options);
}

}  // namespace zllm::runtime::kimi_linear
