#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/glm5_next.h>
#include <zllm/weight/assembly/glm5_next_spec.h>

#include "testing/hybrid_configs.h"
#include "testing/routed_tensors.h"

namespace zllm::weight {
namespace {

using attention::delta_rule::DecayGate;
using testing::names;
using testing::parse;
using testing::TensorList;
using testing::with;
using testing::with_inner;
using testing::without;

// The published configuration with one key of its text part set.
Result<model_spec::Glm5Next> with_text(std::string_view key, std::string_view value) {
  return glm5_next_from_config(with_inner(parse(testing::kGlm53Flash), "text_config", key, value));
}

TEST(Glm5NextConfig, ReadsThePublishedModel) {
  const auto spec = glm5_next_from_config(parse(testing::kGlm53Flash));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->architecture, "glm5_next");
  EXPECT_EQ(spec->layers, 45U);
  EXPECT_EQ(std::ranges::count(spec->is_linear, true), 34);
  EXPECT_EQ(std::ranges::count(spec->owns_indexer, true), 11);
  EXPECT_TRUE(spec->owns_indexer[3] && !spec->is_linear[3]);
  EXPECT_TRUE(spec->is_linear[44]);
  EXPECT_EQ(spec->streams.streams, 4U);
  EXPECT_EQ(spec->streams.iterations, 20U);
  EXPECT_EQ(spec->streams.norm_epsilon, 1e-5);
  EXPECT_EQ(spec->streams.epsilon, 1e-6);
  EXPECT_EQ(spec->delta.key_heads, 64U);
  EXPECT_EQ(spec->delta.decay_gate, DecayGate::bounded);
  EXPECT_EQ(spec->delta.lower_bound, -5.0f);
  EXPECT_EQ(spec->gate_rank, 128U);
  EXPECT_EQ(spec->attention.query_rank, 1536U);
  EXPECT_EQ(spec->attention.latent_norm_epsilon, 1e-5);
  EXPECT_EQ(spec->attention.mla.rope, 0U);
  EXPECT_EQ(spec->attention.mla.scale, 0.0625f);
  EXPECT_EQ(spec->kpool.pool, 4U);
  EXPECT_TRUE(spec->kpool.select_tail);
  EXPECT_EQ(spec->kpool.indexer.top_k, 2048U);
  EXPECT_EQ(spec->kpool.indexer.heads, 32U);
  EXPECT_FLOAT_EQ(spec->kpool.indexer.score_scale, 0.0883883476f);   // 128^-0.5
  EXPECT_FLOAT_EQ(spec->kpool.indexer.weight_scale, 0.1767766953f);  // 32^-0.5
  EXPECT_EQ(spec->indexer_norm_epsilon, 1e-6);
  EXPECT_EQ(spec->mixture.activation.gate, activation::Gate::clamped_swiglu);
  EXPECT_EQ(spec->mixture.activation.limit, 10.0);
  EXPECT_EQ(spec->mixture.router.experts, 288U);
  EXPECT_EQ(spec->mixture.router.scaling, 2.5f);
  EXPECT_FALSE(spec->mixture.is_sparse[2]);
  EXPECT_TRUE(spec->mixture.is_sparse[3]);
}

TEST(Glm5NextConfig, TheTextAloneSaysTheSame) {
  const Json whole = parse(testing::kGlm53Flash);
  const Json text = without(*whole.find("text_config"), "architectures");
  auto spec = glm5_next_from_config(text);
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->architecture, "glm5_next_text");
  spec->architecture = "glm5_next";
  EXPECT_EQ(*spec, glm5_next_from_config(whole).value());
}

TEST(Glm5NextConfig, ReadsTheGateInEverySpelling) {
  const Json text = without(*parse(testing::kGlm53Flash).find("text_config"), "linear_attn_config");
  const Json flat = with(with(text, "linear_num_heads", "64"), "linear_head_dim", "128");
  const auto gate_of = [](const Json& config) {
    return glm5_next_from_config(config).value().delta;
  };
  EXPECT_EQ(gate_of(flat).lower_bound, -5.0f);
  EXPECT_EQ(gate_of(with(flat, "linear_lower_bound", "-4.0")).lower_bound, -4.0f);
  EXPECT_EQ(gate_of(with(flat, "linear_lower_bound", "null")).decay_gate, DecayGate::softplus);
  EXPECT_EQ(gate_of(with(flat, "linear_attn_config", R"({"gate_lower_bound": -3.0})")).lower_bound,
            -3.0f);
  EXPECT_EQ(gate_of(with(flat, "linear_attn_config", R"({"safe_gate": true})")).lower_bound, -5.0f);
  const Json off =
      with(flat, "linear_attn_config", R"({"safe_gate": false, "gate_lower_bound": null})");
  EXPECT_EQ(gate_of(off).decay_gate, DecayGate::softplus);
  for (const char *object :
       {R"({"safe_gate": false, "gate_lower_bound": -5.0})", R"({"safe_gate": false})"}) {
    EXPECT_TRUE(names(glm5_next_from_config(with(flat, "linear_attn_config", object)),
                      {"linear_attn_config.safe_gate"}));
  }
  const Json both = with(with(flat, "linear_lower_bound", "-4.0"), "linear_attn_config",
                         R"({"lower_bound": -5.0})");
  EXPECT_TRUE(names(glm5_next_from_config(both), {"linear_attn_config.lower_bound", "-4"}));
}

TEST(Glm5NextConfig, NamesTheKeyThatIsWrong) {
  struct Case {
    const char *key, *value, *named;
  };
  for (const Case& item : std::vector<Case>{
           {"qk_rope_head_dim", "64", "text_config.qk_rope_head_dim must be 0"},
           {"q_lora_rank", "null", "text_config.q_lora_rank"},
           {"index_kpool", "3", "text_config.index_topk 2048 is no multiple of index_kpool 3"},
           {"index_kpool", "null", "text_config.index_kpool is missing"},
           {"index_kpool_compress", "false", "text_config.index_kpool_compress"},
           {"hc_mult", "0", "text_config.hc_mult"},
           {"hc_sinkhorn_iters", "0", "text_config.hc_sinkhorn_iters"},
           {"hc_eps", "0", "text_config.hc_eps"},
           {"swiglu_limit", "-1", "text_config.swiglu_limit"},
           {"linear_lower_bound", "5.0", "text_config.linear_lower_bound"},
           {"num_key_value_heads", "8", "text_config.num_key_value_heads"},
           {"model_type", "\"glm4_moe\"", "text_config.model_type"},
           {"indexer_types", "[\"full\"]", "text_config.indexer_types"},
           {"layer_types", "[\"linear_attention\"]", "text_config.layer_types"},
           {"quantization_config", R"({"quant_method": "fp8"})",
            "text_config.quantization_config.quant_method 'fp8'"},
       }) {
    EXPECT_TRUE(names(with_text(item.key, item.value), {"config.json", item.named})) << item.named;
  }
  EXPECT_TRUE(names(glm5_next_from_config(with(parse(testing::kGlm53Flash), "quantization_config",
                                               R"({"quant_method": "fp8"})")),
                    {"quantization_config.quant_method 'fp8'"}));
}

// 3 layers: linear, with its own selection, with that of the layer before.
constexpr const char *kSmallText = R"({"model_type": "glm5_next_text", "hidden_size": 32,
  "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 40,
  "intermediate_size": 48, "moe_intermediate_size": 16, "n_routed_experts": 4,
  "num_experts_per_tok": 2, "n_shared_experts": 1, "q_lora_rank": 10, "kv_lora_rank": 12,
  "qk_nope_head_dim": 6, "qk_rope_head_dim": 0, "v_head_dim": 8, "linear_num_heads": 2,
  "linear_head_dim": 8, "linear_conv_kernel_dim": 4, "hc_mult": 4, "index_topk": 8,
  "index_kpool": 4, "index_n_heads": 2, "index_head_dim": 5,
  "layer_types": ["linear_attention", "deepseek_sparse_attention", "deepseek_sparse_attention"],
  "indexer_types": ["full", "full", "shared"],
  "mlp_layer_types": ["dense", "sparse", "sparse"], "eos_token_id": 2})";

Json small_config() {
  return with(parse(R"({"model_type": "glm5_next"})"), "text_config", parse(kSmallText));
}

void add_sparse_attention(TensorList& list, const std::string& attention, bool has_indexer) {
  list.set(attention + "q_a_proj.weight", {10, 32}).set(attention + "q_a_layernorm.weight", {10});
  list.set(attention + "q_b_proj.weight", {12, 10});
  list.set(attention + "kv_a_proj_with_mqa.weight", {12, 32});
  list.set(attention + "kv_a_layernorm.weight", {12});
  list.set(attention + "kv_b_proj.weight", {28, 12}).set(attention + "o_proj.weight", {32, 16});
  if (has_indexer) {
    const std::string indexer = attention + "indexer.";
    list.set(indexer + "wq_b.weight", {10, 10}).set(indexer + "wk.weight", {5, 32});
    list.set(indexer + "k_norm.weight", {5}).set(indexer + "k_norm.bias", {5});
    list.set(indexer + "weights_proj.weight", {2, 32});
    list.set(indexer + "index_kpool_compress_gate", {5, 32});
    list.set(indexer + "index_kpool_compress_ape", {4, 5});
  }
}

TensorList small_tensors(const std::string& body, const std::string& head) {
  TensorList list;
  testing::add_ends(list, body, head);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const std::string prefix = concat(body, "layers.", layer, ".");
    testing::add_norms(list, prefix);
    for (const std::string site : {"hc_attn", "hc_ffn"}) {
      list.set(prefix + site + "_fn", {24, 128}).set(prefix + site + "_base", {24});
      list.set(prefix + site + "_scale", {3});
    }
    if (layer == 0) {
      testing::add_delta(list, prefix + "self_attn.");
      testing::add_mlp(list, prefix + "mlp.", 48);
    } else {
      add_sparse_attention(list, prefix + "self_attn.", layer == 1);
      testing::add_router(list, prefix + "mlp.", true, true);
      testing::add_experts(list, prefix + "mlp.");
    }
  }
  return list;
}

ModelFiles files_of(const TensorList& tensors, const Json& config = small_config()) {
  ModelFiles files;
  files.path = "some/folder";
  files.tensors = tensors.table();
  files.config = config;
  return files;
}

// For errors alone: a model refers to its files.
Result<Glm5NextModel> assemble(const TensorList& tensors, const Json& config = small_config()) {
  return assemble_glm5_next(files_of(tensors, config));
}

TEST(Glm5NextAssembly, BindsUnderEveryPrefix) {
  for (const auto& [body, head] : std::vector<std::pair<std::string, std::string>>{
           {"model.language_model.", "lm_head.weight"},
           {"language_model.model.", "language_model.lm_head.weight"},
           {"model.", "lm_head.weight"}}) {
    const ModelFiles files = files_of(small_tensors(body, head));
    const auto model = assemble_glm5_next(files);
    ASSERT_TRUE(model.ok()) << model.error().message;
    ASSERT_EQ(model->layers.size(), 3U);
    EXPECT_EQ(model->ends.head.name, head);
    EXPECT_TRUE(std::holds_alternative<DeltaAttentionWeights>(model->layers[0].attention));
    EXPECT_FALSE(model->layers[0].indexer.has_value());
    EXPECT_FALSE(model->layers[2].indexer.has_value());
    const IndexerWeights& indexer = model->layers[1].indexer.value();
    EXPECT_EQ(indexer.gates.value().rows, 5U);
    EXPECT_EQ(indexer.position_bias.value().columns, 20U);
    const auto& latent = std::get<LatentAttentionWeights>(model->layers[2].attention);
    EXPECT_FALSE(latent.shared_key.has_value());
    EXPECT_EQ(latent.query_norm.value().columns, 10U);
    const Glm5NextLayer& layer = model->layers[1];
    EXPECT_EQ(layer.mlp_streams.mixing.columns, 128U);
    EXPECT_EQ(layer.mlp_streams.scale.columns, 3U);
    EXPECT_EQ(layer.attention_streams.base.name, body + "layers.1.hc_attn_base");
    EXPECT_EQ(model->facts.end_tokens, std::vector<TokenId>{2});
  }
}

TEST(Glm5NextAssembly, KnowsVisionAndDraftTensors) {
  TensorList tensors = small_tensors("model.language_model.", "lm_head.weight");
  tensors.set("model.visual.blocks.0.norm1.weight", {7});
  tensors.set("model.language_model.layers.3.eh_proj.weight", {32, 64});
  EXPECT_TRUE(assemble(tensors).ok());
  tensors.set("model.audio.weight", {7}).set("model.language_model.layers.4.norm.weight", {7});
  EXPECT_TRUE(names(assemble(tensors), {"unexpected 2 tensors", "'model.audio.weight'",
                                        "'model.language_model.layers.4.norm.weight'"}));
}

TEST(Glm5NextAssembly, ListsWhatIsMissing) {
  TensorList tensors = small_tensors("model.language_model.", "lm_head.weight");
  const std::string layer = "model.language_model.layers.1.";
  tensors.remove(layer + "hc_ffn_scale");
  tensors.remove(layer + "self_attn.indexer.index_kpool_compress_gate");
  EXPECT_TRUE(names(assemble(tensors), {"some/folder", "lacks 2 tensors", layer + "hc_ffn_scale",
                                        "indexer.index_kpool_compress_gate"}));
  TensorList narrow = small_tensors("model.language_model.", "lm_head.weight");
  narrow.set(layer + "hc_attn_fn", {24, 32});
  EXPECT_TRUE(names(assemble(narrow), {layer + "hc_attn_fn", "[24, 128]"}));
}

TEST(Glm5NextAssembly, TheFirstAttentionLayerSelects) {
  const Json config =
      with_inner(small_config(), "text_config", "indexer_types", R"(["full", "shared", "full"])");
  EXPECT_TRUE(names(assemble(small_tensors("model.", "lm_head.weight"), config),
                    {"text_config.indexer_types makes layer 1 share a selection"}));
}

TEST(Glm5NextAssembly, RefusesGguf) {
  ModelFiles files;
  files.gguf = GgufMetadata();
  EXPECT_TRUE(names(assemble_glm5_next(files), {"GGUF"}));
}

}  // namespace
}  // namespace zllm::weight
