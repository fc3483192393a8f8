#include <zllm/weight/assembly/kimi_linear.h>

#include <string>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/assemble_files.h>
#include <zllm/weight/assembly/delta_attention.h>
#include <zllm/weight/assembly/ends.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/kimi_linear_spec.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/mixture.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kDenseBlock = "mlp.";
constexpr std::string_view kSparseBlock = "block_sparse_moe.";

struct LayerNames {
  std::string_view attention_norm, mlp_norm;
  DeltaNames delta;
  LatentAttentionNames latent;
  MixtureNames mixture;
};

constexpr LayerNames kHubLayer = {.attention_norm = "input_layernorm.weight",
                                  .mlp_norm = "post_attention_layernorm.weight",
                                  .delta = kHubDelta,
                                  .latent = kHubLatentAttention,
                                  .mixture = kHubMixture};

// The checkpoint's own code calls dense blocks mlp and sparse ones block_sparse_moe; transformers
// writes either name for all.
std::string_view hub_block(const WeightBinder& binder, std::string_view prefix, bool is_sparse) {
  const std::string_view probe = is_sparse ? "gate.weight" : "gate_proj.weight";
  const std::string_view usual = is_sparse ? kSparseBlock : kDenseBlock;
  const std::string_view other = is_sparse ? kDenseBlock : kSparseBlock;
  const bool has_other =
      !binder.has(concat(prefix, usual, probe)) && binder.has(concat(prefix, other, probe));
  return has_other ? other : usual;
}

KimiLinearLayer bind_layer(WeightBinder& binder, const std::string& prefix, const LayerNames& names,
                           const std::string& block, const model_spec::KimiLinear& spec,
                           std::uint32_t layer) {
  KimiLinearLayer weights;
  weights.attention_norm = binder.vector(concat(prefix, names.attention_norm), spec.hidden);
  weights.mlp_norm = binder.vector(concat(prefix, names.mlp_norm), spec.hidden);
  if (spec.is_linear[layer]) {
    weights.attention = bind_delta_attention(binder, prefix, names.delta, spec.delta,
                                             {.hidden = spec.hidden, .gate_rank = spec.gate_rank});
  } else {
    weights.attention =
        bind_latent_attention(binder, prefix, names.latent, spec.attention, spec.hidden);
  }
  weights.mlp = bind_mixture(binder, block, names.mixture, spec.mixture, spec.hidden, layer);
  return weights;
}

Status assemble_hub(const ModelFiles& files, KimiLinearModel& model) {
  ZLLM_TRY(model.spec, kimi_linear_from_config(*files.config));
  model_spec::KimiLinear& spec = model.spec;
  ZLLM_TRY(read_hub_tokens(files, *files.config, spec.vocabulary, model.facts));
  const HubPrefix& prefix = hub_prefix_of(files.tensors);
  const EndNames ends = hub_end_names(prefix);
  spec.tied_embeddings =
      still_tied(files.tensors, ends, spec.tied_embeddings, model.facts.warnings);
  const std::string layers = concat(prefix.body, "layers.");
  ZLLM_TRY(const auto config, ConfigReader::open(*files.config, "config.json"));
  ZLLM_TRY(const auto drafts, draft_layer_prefixes(config, layers, spec.layers));
  WeightBinder binder(files.tensors);
  model.ends = bind_ends(binder, ends, spec.vocabulary, spec.hidden, spec.tied_embeddings);
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    const std::string of_layer = concat(layers, layer, ".");
    const std::string block =
        concat(of_layer, hub_block(binder, of_layer, spec.mixture.is_sparse[layer]));
    model.layers.push_back(bind_layer(binder, of_layer, kHubLayer, block, spec, layer));
  }
  return binder.finish({}, begins_with_any(drafts));
}

Status assemble_gguf(const ModelFiles&, KimiLinearModel&) {
  return Error{Code::unsupported, "GGUF is not supported for this family"};
}

}  // namespace

Result<KimiLinearModel> assemble_kimi_linear(const ModelFiles& files) {
  return assemble_files<KimiLinearModel>(files, assemble_hub, assemble_gguf);
}

}  // namespace zllm::weight
