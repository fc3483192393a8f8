#include <zllm/runtime/glm5_next/sample.h>

#include <zllm/runtime/block/sample.h>
#include <zllm/runtime/glm5_next/glm5_next.h>

namespace zllm::runtime::glm5_next {

std::vector<backend::OpKey> sample_requirements(encoding::Encoding encoding,
                                                const LoadOptions& options) {
  weight::Glm5NextModel model;
  model.spec.layers = 2;
  model.spec.hidden = block::kSampleHidden;
  model.ends = block::sample_ends(encoding);
  model.spec.streams = {.streams = 4, .iterations = 20};
  model.spec.is_linear = {true, false};
  model.spec.owns_indexer = {false, true};
  model.spec.delta = block::sample_delta();
  model.spec.gate_rank = block::kSampleGateRank;
  model.spec.attention = block::sample_latent_attention();
  model.spec.kpool = {.indexer = block::sample_indexer(), .pool = 4};
  model.spec.mixture = block::sample_mixture();
  for (std::uint32_t layer = 0; layer < model.spec.layers; ++layer) {
    auto& weights = model.layers.emplace_back();
    weights.attention_streams = weights.mlp_streams =
        block::sample_weights(model.spec.streams, encoding);
    weights.mlp = block::sample_weights(model.spec.mixture, layer, encoding);
  }
  model.layers[0].attention = block::sample_weights(model.spec.delta, encoding);
  model.layers[1].attention = block::sample_weights(model.spec.attention, encoding);
  model.layers[1].indexer = block::sample_weights(model.spec.kpool.indexer,
                                                  model.spec.attention.query_rank, true, encoding);
  return requirements(model, {.first = 0, .end = model.spec.layers}, options);
}

}  // namespace zllm::runtime::glm5_next
