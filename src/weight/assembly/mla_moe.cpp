#include <zllm/weight/assembly/mla_moe.h>

#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/assemble_files.h>
#include <zllm/weight/assembly/ends.h>
#include <zllm/weight/assembly/gguf_family.h>
#include <zllm/weight/assembly/hub_family.h>
#include <zllm/weight/assembly/indexer.h>
#include <zllm/weight/assembly/latent_attention.h>
#include <zllm/weight/assembly/mixture.h>
#include <zllm/weight/assembly/mla_moe_spec.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {
namespace {

using model_spec::IndexerKind;

// How a file format spells a model of this family.
struct Names {
  std::string layer;  // before a layer's number
  EndNames ends;
  std::string_view attention_norm, mlp_norm;
  std::string_view mixture_prefix;
  const LatentAttentionNames& attention;
  const IndexerNames& indexer;
  const MixtureNames& mixture;
};

Names hub_names(const HubPrefix& prefix) {
  return {.layer = concat(prefix.body, "layers."),
          .ends = hub_end_names(prefix),
          .attention_norm = "input_layernorm.weight",
          .mlp_norm = "post_attention_layernorm.weight",
          .mixture_prefix = "mlp.",
          .attention = kHubLatentAttention,
          .indexer = kHubIndexer,
          .mixture = kHubMixture};
}

Names gguf_names() {
  return {.layer = "blk.",
          .ends = gguf_end_names(),
          .attention_norm = "attn_norm.weight",
          .mlp_norm = "ffn_norm.weight",
          .mixture_prefix = "",
          .attention = kGgufLatentAttention,
          .indexer = kGgufIndexer,
          .mixture = kGgufMixture};
}

// Buffers that older checkpoints carry though they follow from the configuration.
constexpr std::array<std::string_view, 1> kIgnoredHubEndings = {".rotary_emb.inv_freq"};
constexpr std::array<std::string_view, 1> kIgnoredGgufEndings = {"rope_freqs.weight"};

MlaMoeLayer bind_layer(WeightBinder& binder, const Names& names, const model_spec::MlaMoe& spec,
                       std::uint32_t number) {
  const std::string prefix = concat(names.layer, number, ".");
  MlaMoeLayer layer;
  layer.attention_norm = binder.vector(concat(prefix, names.attention_norm), spec.hidden);
  layer.attention =
      bind_latent_attention(binder, prefix, names.attention, spec.attention, spec.hidden);
  if (spec.indexers[number] == IndexerKind::full) {
    layer.indexer =
        bind_indexer(binder, prefix, names.indexer, spec.indexer,
                     {.hidden = spec.hidden, .query_rank = spec.attention.query_rank, .pool = 0});
  }
  layer.mlp_norm = binder.vector(concat(prefix, names.mlp_norm), spec.hidden);
  layer.mlp = bind_mixture(binder, concat(prefix, names.mixture_prefix), names.mixture,
                           spec.mixture, spec.hidden, number);
  return layer;
}

// A layer's number and what comes after its point, of a name that has the prefix.
struct LayerName {
  std::uint32_t number = 0;
  std::string_view rest;
};

std::optional<LayerName> layer_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  name.remove_prefix(prefix.size());
  LayerName found;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), found.number);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc() || !name.substr(digits).starts_with('.')) {
    return std::nullopt;
  }
  found.rest = name.substr(digits + 1);
  return found;
}

bool is_indexer_tensor(std::string_view rest, const IndexerNames& names) {
  return rest == names.query || rest == names.key || rest == names.key_norm ||
         rest == names.key_norm_bias || rest == names.weights;
}

// Converters give every layer an indexer, whether it shares a selection or not.
bool is_unused_indexer(std::string_view name, const Names& names, const model_spec::MlaMoe& spec) {
  const auto layer = layer_of(name, names.layer);
  return layer && layer->number < spec.layers &&
         spec.indexers[layer->number] == IndexerKind::shared &&
         is_indexer_tensor(layer->rest, names.indexer);
}

Status bind_model(const ModelFiles& files, const Names& names,
                  std::span<const std::string_view> ignored_endings,
                  const std::vector<std::string>& drafts, MlaMoeModel& model) {
  const model_spec::MlaMoe& spec = model.spec;
  WeightBinder binder(files.tensors);
  model.ends = bind_ends(binder, names.ends, spec.vocabulary, spec.hidden, spec.tied_embeddings);
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    model.layers.push_back(bind_layer(binder, names, spec, layer));
  }
  const auto is_draft = begins_with_any(drafts);
  return binder.finish(ignored_endings, [&](std::string_view name) {
    return is_draft(name) || is_unused_indexer(name, names, spec);
  });
}

Status assemble_hub(const ModelFiles& files, MlaMoeModel& model) {
  ZLLM_TRY(model.spec, mla_moe_from_config(*files.config, model.facts.warnings));
  ZLLM_TRY(read_hub_tokens(files, *files.config, model.spec.vocabulary, model.facts));
  const Names names = hub_names(hub_prefix_of(files.tensors));
  model.spec.tied_embeddings =
      still_tied(files.tensors, names.ends, model.spec.tied_embeddings, model.facts.warnings);
  ZLLM_TRY(const auto config, ConfigReader::open(*files.config, "config.json"));
  ZLLM_TRY(const auto drafts, draft_layer_prefixes(config, names.layer, model.spec.layers));
  return bind_model(files, names, kIgnoredHubEndings, drafts, model);
}

Status assemble_gguf(const ModelFiles& files, MlaMoeModel& model) {
  ZLLM_TRY(model.spec, mla_moe_from_metadata(*files.gguf, files.tensors));
  ZLLM_TRY(read_gguf_tokens(files, model.spec.vocabulary, model.facts));
  const MetadataReader metadata(*files.gguf, model.spec.architecture);
  ZLLM_TRY(const GgufBlocks blocks, gguf_blocks(metadata));
  return bind_model(files, gguf_names(), kIgnoredGgufEndings, gguf_draft_prefixes(blocks), model);
}

}  // namespace

Result<MlaMoeModel> assemble_mla_moe(const ModelFiles& files) {
  return assemble_files<MlaMoeModel>(files, assemble_hub, assemble_gguf);
}

}  // namespace zllm::weight
