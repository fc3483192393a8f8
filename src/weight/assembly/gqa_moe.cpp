#include <zllm/weight/assembly/gqa_moe.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/assemble_files.h>
#include <zllm/weight/assembly/ends.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/gqa_attention.h>
#include <zllm/weight/assembly/gqa_moe_spec.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/mixture.h>
#include <zllm/weight/assembly/rope_metadata.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {
namespace {

// How one file format spells a layer.
struct LayerNames {
  std::string_view attention_norm, mlp_norm;
  GqaNames attention;
  std::string_view mlp;  // prefix of the feed-forward block
  MixtureNames mixture;
};

constexpr LayerNames kHubLayer = {.attention_norm = "input_layernorm.weight",
                                  .mlp_norm = "post_attention_layernorm.weight",
                                  .attention = kHubGqa,
                                  .mlp = "mlp.",
                                  .mixture = kHubMixture};

constexpr LayerNames kHubGatedLayer = {.attention_norm = kHubLayer.attention_norm,
                                       .mlp_norm = kHubLayer.mlp_norm,
                                       .attention = kHubGqa,
                                       .mlp = "mlp.",
                                       .mixture = kHubGatedMixture};

constexpr LayerNames kGgufLayer = {.attention_norm = "attn_norm.weight",
                                   .mlp_norm = "ffn_norm.weight",
                                   .attention = kGgufGqa,
                                   .mlp = "",
                                   .mixture = kGgufMixture};
constexpr LayerNames kGlmGgufLayer = {.attention_norm = "attn_norm.weight",
                                      .mlp_norm = "post_attention_norm.weight",
                                      .attention = kGgufGqa,
                                      .mlp = "",
                                      .mixture = kGgufMixture};

// A buffer that older checkpoints carry though it follows from the configuration.
constexpr std::array<std::string_view, 1> kIgnoredHubEndings = {".rotary_emb.inv_freq"};
// Tensors that the spec already took in.
constexpr std::array<std::string_view, 3> kIgnoredGgufEndings = {
    kRopeFrequenciesTensor, kRopeLongFactorsTensor, kRopeShortFactorsTensor};

void bind_layers(WeightBinder& binder, std::string_view layers_prefix, const LayerNames& names,
                 GqaMoeModel& model) {
  const model_spec::GqaMoe& spec = model.spec;
  const GqaShape shape{.hidden = spec.hidden,
                       .query_heads = spec.query_heads,
                       .kv_heads = spec.kv_heads,
                       .head = spec.head,
                       .query_key_norm = spec.query_key_norm,
                       .qkv_bias = spec.qkv_bias,
                       .output_bias = spec.output_bias};
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    const std::string prefix = concat(layers_prefix, layer, ".");
    GqaMoeLayer weights;
    weights.attention_norm = binder.vector(concat(prefix, names.attention_norm), spec.hidden);
    weights.mlp_norm = binder.vector(concat(prefix, names.mlp_norm), spec.hidden);
    weights.attention = bind_gqa(binder, prefix, names.attention, shape);
    weights.mlp = bind_mixture(binder, concat(prefix, names.mlp), names.mixture, spec.mixture,
                               spec.hidden, layer);
    model.layers.push_back(std::move(weights));
  }
}

Status assemble_hub(const ModelFiles& files, GqaMoeModel& model) {
  ZLLM_TRY(model.spec, gqa_moe_from_config(*files.config, model.facts.warnings));
  ZLLM_TRY(read_hub_tokens(files, *files.config, model.spec.vocabulary, model.facts));
  const HubPrefix& prefix = hub_prefix_of(files.tensors);
  const EndNames ends = hub_end_names(prefix);
  model.spec.tied_embeddings =
      still_tied(files.tensors, ends, model.spec.tied_embeddings, model.facts.warnings);
  const std::string layers = concat(prefix.body, "layers.");
  ZLLM_TRY(const auto config, ConfigReader::open(*files.config, "config.json"));
  ZLLM_TRY(const auto drafts, draft_layer_prefixes(config, layers, model.spec.layers));
  WeightBinder binder(files.tensors);
  model.ends =
      bind_ends(binder, ends, model.spec.vocabulary, model.spec.hidden, model.spec.tied_embeddings);
  const bool is_gated = model.spec.mixture.shared_gate;
  bind_layers(binder, layers, is_gated ? kHubGatedLayer : kHubLayer, model);
  return binder.finish(kIgnoredHubEndings, begins_with_any(drafts));
}

Status assemble_gguf(const ModelFiles& files, GqaMoeModel& model) {
  ZLLM_TRY(model.spec, gqa_moe_from_metadata(*files.gguf, files.tensors));
  const model_spec::GqaMoe& spec = model.spec;
  ZLLM_TRY(read_gguf_tokens(files, spec.vocabulary, model.facts));
  WeightBinder binder(files.tensors);
  model.ends =
      bind_ends(binder, gguf_end_names(), spec.vocabulary, spec.hidden, spec.tied_embeddings);
  const bool is_glm = spec.architecture == "glm4moe";
  bind_layers(binder, "blk.", is_glm ? kGlmGgufLayer : kGgufLayer, model);
  ZLLM_TRY(const GgufBlocks blocks, gguf_blocks(MetadataReader(*files.gguf, spec.architecture)));
  return binder.finish(kIgnoredGgufEndings, begins_with_any(gguf_draft_prefixes(blocks)));
}

}  // namespace

Result<GqaMoeModel> assemble_gqa_moe(const ModelFiles& files) {
  return assemble_files<GqaMoeModel>(files, assemble_hub, assemble_gguf);
}

}  // namespace zllm::weight
