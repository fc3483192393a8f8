#include <zllm/runtime/mla_moe/sample.h>

#include <zllm/runtime/block/sample.h>
#include <zllm/runtime/mla_moe/mla_moe.h>

namespace zllm::runtime::mla_moe {

std::vector<backend::OpKey> sample_requirements(encoding::Encoding encoding,
                                                const LoadOptions& options) {
  weight::MlaMoeModel model;
  model.spec.layers = 2;
  model.spec.hidden = block::kSampleHidden;
  model.ends = block::sample_ends(encoding);
  model.spec.attention = block::sample_latent_attention();
  model.spec.indexers = {model_spec::IndexerKind::full, model_spec::IndexerKind::shared};
  model.spec.indexer = block::sample_indexer();
  model.spec.mixture = block::sample_mixture();
  for (std::uint32_t layer = 0; layer < model.spec.layers; ++layer) {
    auto& weights = model.layers.emplace_back();
    weights.attention = block::sample_weights(model.spec.attention, encoding);
    weights.mlp = block::sample_weights(model.spec.mixture, layer, encoding);
  }
  model.layers.front().indexer =
      block::sample_weights(model.spec.indexer, model.spec.attention.query_rank, false, encoding);
  return requirements(model, {.first = 0, .end = model.spec.layers}, options);
}

}  // namespace zllm::runtime::mla_moe
