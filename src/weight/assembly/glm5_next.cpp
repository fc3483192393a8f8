#include <zllm/weight/assembly/glm5_next.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/assemble_files.h>
#include <zllm/weight/assembly/delta_attention.h>
#include <zllm/weight/assembly/ends.h>
#include <zllm/weight/assembly/glm5_next_spec.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/indexer.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/mixture.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {
namespace {

// Of the part that sees images, which this model leaves out.
constexpr std::array<std::string_view, 2> kVisionPrefixes = {"model.visual.", "visual."};
constexpr std::uint64_t kStreamScales = 3;  // before, after, combine

StreamWeights bind_streams(WeightBinder& binder, std::string_view site,
                           const model_spec::Glm5Next& spec) {
  const std::uint64_t width = residual::mix_width(spec.streams);
  const std::uint64_t streams = std::uint64_t{spec.streams.streams} * spec.hidden;
  return {.mixing = binder.matrix(concat(site, "_fn"), width, streams),
          .base = binder.vector(concat(site, "_base"), width),
          .scale = binder.vector(concat(site, "_scale"), kStreamScales)};
}

Glm5NextLayer bind_layer(WeightBinder& binder, const std::string& prefix,
                         const model_spec::Glm5Next& spec, std::uint32_t layer) {
  Glm5NextLayer weights;
  weights.attention_norm = binder.vector(concat(prefix, "input_layernorm.weight"), spec.hidden);
  weights.mlp_norm = binder.vector(concat(prefix, "post_attention_layernorm.weight"), spec.hidden);
  weights.attention_streams = bind_streams(binder, concat(prefix, "hc_attn"), spec);
  weights.mlp_streams = bind_streams(binder, concat(prefix, "hc_ffn"), spec);
  if (spec.is_linear[layer]) {
    weights.attention = bind_delta_attention(binder, prefix, kHubDelta, spec.delta,
                                             {.hidden = spec.hidden, .gate_rank = spec.gate_rank});
  } else {
    weights.attention =
        bind_latent_attention(binder, prefix, kHubLatentAttention, spec.attention, spec.hidden);
  }
  if (spec.owns_indexer[layer]) {
    weights.indexer = bind_indexer(
        binder, prefix, kHubIndexer, spec.kpool.indexer,
        {.hidden = spec.hidden, .query_rank = spec.attention.query_rank, .pool = spec.kpool.pool});
  }
  weights.mlp =
      bind_mixture(binder, concat(prefix, "mlp."), kHubMixture, spec.mixture, spec.hidden, layer);
  return weights;
}

// The text part states its own tokens, or leaves them to the whole.
const Json& config_of_tokens(const Json& config) {
  const Json& text = glm5_next_text_config(config);
  const Json *end = text.find("eos_token_id");
  return end != nullptr && !end->is_null() ? text : config;
}

Status assemble_hub(const ModelFiles& files, Glm5NextModel& model) {
  ZLLM_TRY(model.spec, glm5_next_from_config(*files.config));
  model_spec::Glm5Next& spec = model.spec;
  ZLLM_TRY(read_hub_tokens(files, config_of_tokens(*files.config), spec.vocabulary, model.facts));
  const HubPrefix& prefix = hub_prefix_of(files.tensors);
  const EndNames ends = hub_end_names(prefix);
  spec.tied_embeddings =
      still_tied(files.tensors, ends, spec.tied_embeddings, model.facts.warnings);
  const std::string layers = concat(prefix.body, "layers.");
  ZLLM_TRY(const auto config,
           ConfigReader::open(glm5_next_text_config(*files.config), "config.json"));
  ZLLM_TRY(auto ignored, draft_layer_prefixes(config, layers, spec.layers));
  ignored.insert(ignored.end(), kVisionPrefixes.begin(), kVisionPrefixes.end());
  WeightBinder binder(files.tensors);
  model.ends = bind_ends(binder, ends, spec.vocabulary, spec.hidden, spec.tied_embeddings);
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    model.layers.push_back(bind_layer(binder, concat(layers, layer, "."), spec, layer));
  }
  return binder.finish({}, begins_with_any(std::move(ignored)));
}

Status assemble_gguf(const ModelFiles&, Glm5NextModel&) {
  return Error{Code::unsupported, "GLM-5.3-Flash is not supported as GGUF, only as a Hub folder"};
}

}  // namespace

Result<Glm5NextModel> assemble_glm5_next(const ModelFiles& files) {
  return assemble_files<Glm5NextModel>(files, assemble_hub, assemble_gguf);
}

}  // namespace zllm::weight
