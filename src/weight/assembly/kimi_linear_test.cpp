#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/kimi_linear.h>
#include <zllm/weight/assembly/kimi_linear_spec.h>

#include "testing/hybrid_configs.h"
#include "testing/routed_tensors.h"

namespace zllm::weight {
namespace {

using testing::MetadataList;
using testing::names;
using testing::number_of;
using testing::parse;
using testing::TensorList;
using testing::with;
using testing::with_inner;
using testing::without;

TEST(KimiLinearConfig, ReadsThePublishedModel) {
  const auto spec = kimi_linear_from_config(parse(testing::kKimiLinear48B));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->layers, 27U);
  EXPECT_EQ(spec->max_positions, 1048576U);
  EXPECT_EQ(spec->norm_epsilon, 1e-5);
  std::vector<std::uint32_t> full;
  for (std::uint32_t layer = 0; layer < spec->layers; ++layer) {
    if (!spec->is_linear[layer]) {
      full.push_back(layer);
    }
  }
  EXPECT_EQ(full, (std::vector<std::uint32_t>{3, 7, 11, 15, 19, 23, 26}));
  EXPECT_EQ(spec->delta.key_heads, 32U);
  EXPECT_EQ(spec->delta.value_heads, 32U);
  EXPECT_EQ(spec->delta.key_width, 128U);
  EXPECT_EQ(spec->delta.taps, 4U);
  EXPECT_EQ(spec->delta.decay_gate, attention::delta_rule::DecayGate::softplus);
  EXPECT_TRUE(spec->delta.rates_are_logarithms);
  EXPECT_EQ(spec->gate_rank, 128U);
  EXPECT_EQ(spec->attention.query_rank, 0U);
  EXPECT_EQ(spec->attention.latent_norm_epsilon, 1e-6);
  EXPECT_EQ(spec->attention.mla.rope, 64U);
  EXPECT_FLOAT_EQ(spec->attention.mla.scale, 0.0721687824f);  // 192^-0.5
  EXPECT_EQ(spec->mixture.router, (moe::RouterSpec{.experts = 256,
                                                   .top_k = 8,
                                                   .groups = 1,
                                                   .kept_groups = 1,
                                                   .scoring = moe::Scoring::sigmoid,
                                                   .has_selection_bias = true,
                                                   .normalise = true,
                                                   .scaling = 2.446f}));
  EXPECT_FALSE(spec->mixture.is_sparse[0]);
  EXPECT_TRUE(spec->mixture.is_sparse[1]);
}

TEST(KimiLinearConfig, NamesTheKeyThatIsWrong) {
  const Json published = parse(testing::kKimiLinear48B);
  struct Case {
    const char *key, *value, *named;
  };
  for (const Case& item : std::vector<Case>{
           {"kda_layers", "[1, 2, 3]", "linear_attn_config.kda_layers lacks layer 5"},
           {"kda_layers", "[0, 1]", "linear_attn_config.kda_layers entry 0"},
           {"full_attn_layers", "[28]", "linear_attn_config.full_attn_layers entry 0"},
           {"full_attn_layers", "[4, 4]", "full_attn_layers has layer 4, which is told already"},
           {"full_attn_layers", "[1, 4]", "full_attn_layers has layer 1"},
           {"head_dim", "null", "linear_head_dim is missing"},
           {"num_heads", "0", "linear_attn_config.num_heads"},
           {"short_conv_kernel_size", "0", "linear_attn_config.short_conv_kernel_size"},
           {"gate_lower_bound", "-5.0", "linear_attn_config bounds the decay gate"},
       }) {
    const Json config = with_inner(published, "linear_attn_config", item.key, item.value);
    EXPECT_TRUE(names(kimi_linear_from_config(config), {"config.json", item.named})) << item.named;
  }
  for (const Case& item : std::vector<Case>{
           {"mla_use_nope", "false", "mla_use_nope"},
           {"linear_num_heads", "16", "num_heads 32 contradicts linear_num_heads 16"},
           {"max_position_embeddings", "4096", "model_max_length"},
           {"num_key_value_heads", "8", "num_key_value_heads"},
           {"moe_router_activation_func", "\"relu\"", "moe_router_activation_func"},
           {"norm_topk_prob", "false", "moe_renormalize"},
           {"linear_attn_config", "null", "layer_types is missing"},
           {"layer_types", "[\"linear_attention\"]", "layer_types must have one entry"},
           {"quantization_config", R"({"quant_method": "gptq"})",
            "quantization_config.quant_method"},
       }) {
    EXPECT_TRUE(names(kimi_linear_from_config(with(published, item.key, item.value)),
                      {"config.json", item.named}))
        << item.named;
  }
}

// In the spelling of transformers: 3 layers, the last of them latent.
constexpr const char *kSmall = R"({"model_type": "kimi_linear", "hidden_size": 32,
  "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 40,
  "intermediate_size": 48, "moe_intermediate_size": 16, "num_experts": 4,
  "num_experts_per_token": 2, "num_shared_experts": 1, "q_lora_rank": null, "kv_lora_rank": 12,
  "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 8, "linear_num_heads": 2,
  "linear_head_dim": 8, "linear_conv_kernel_dim": 4,
  "layer_types": ["linear_attention", "linear_attention", "full_attention"],
  "mlp_layer_types": ["dense", "sparse", "sparse"], "eos_token_id": 2})";

// The same as the checkpoint's own code spells it.
Json remote_small() {
  Json config = parse(kSmall);
  for (const std::string_view key : {"linear_num_heads", "linear_head_dim",
                                     "linear_conv_kernel_dim", "layer_types", "mlp_layer_types"}) {
    config = without(config, key);
  }
  config = with(config, "first_k_dense_replace", "1");
  return with(config, "linear_attn_config",
              R"({"kda_layers": [1, 2], "full_attn_layers": [3], "head_dim": 8, "num_heads": 2,
                  "short_conv_kernel_size": 4})");
}

TEST(KimiLinearConfig, BothSpellingsSayTheSame) {
  const auto own = kimi_linear_from_config(parse(kSmall));
  const auto remote = kimi_linear_from_config(remote_small());
  ASSERT_TRUE(own.ok()) << own.error().message;
  ASSERT_TRUE(remote.ok()) << remote.error().message;
  EXPECT_EQ(*own, *remote);
  const Json both = with(remote_small(), "layer_types",
                         R"(["linear_attention", "full_attention", "linear_attention"])");
  EXPECT_TRUE(names(kimi_linear_from_config(both), {"layer_types contradicts"}));
}

void add_latent(TensorList& list, const std::string& attention) {
  list.set(attention + "q_proj.weight", {20, 32});
  list.set(attention + "kv_a_proj_with_mqa.weight", {16, 32});
  list.set(attention + "kv_a_layernorm.weight", {12});
  list.set(attention + "kv_b_proj.weight", {28, 12}).set(attention + "o_proj.weight", {32, 16});
}

TensorList hub_tensors(const std::string& dense, const std::string& sparse) {
  TensorList list;
  testing::add_ends(list, "model.", "lm_head.weight");
  for (const std::string layer : {"model.layers.0.", "model.layers.1.", "model.layers.2."}) {
    testing::add_norms(list, layer);
    if (layer == "model.layers.2.") {
      add_latent(list, layer + "self_attn.");
    } else {
      testing::add_delta(list, layer + "self_attn.");
    }
    if (layer == "model.layers.0.") {
      testing::add_mlp(list, layer + dense, 48);
    } else {
      testing::add_router(list, layer + sparse, true, true);
      testing::add_numbered_experts(list, layer + sparse);
    }
  }
  return list;
}

ModelFiles hub_files(const TensorList& tensors, const Json& config) {
  ModelFiles files;
  files.path = "some/folder";
  files.tensors = tensors.table();
  files.config = config;
  return files;
}

// For errors alone: a model refers to its files.
Result<KimiLinearModel> assemble_hub(const TensorList& tensors, const Json& config) {
  return assemble_kimi_linear(hub_files(tensors, config));
}

TEST(KimiLinearAssembly, BindsBlocksUnderEveryName) {
  for (const auto& [dense, sparse] :
       std::vector<std::pair<std::string, std::string>>{{"mlp.", "block_sparse_moe."},
                                                        {"block_sparse_moe.", "block_sparse_moe."},
                                                        {"mlp.", "mlp."}}) {
    const ModelFiles files = hub_files(hub_tensors(dense, sparse), remote_small());
    const auto model = assemble_kimi_linear(files);
    ASSERT_TRUE(model.ok()) << model.error().message;
    ASSERT_EQ(model->layers.size(), 3U);
    const auto& delta = std::get<DeltaAttentionWeights>(model->layers[1].attention);
    EXPECT_EQ(delta.query_taps.rows, 1U);
    EXPECT_EQ(delta.query_taps.columns, 64U);
    EXPECT_EQ(delta.rates.columns, 2U);
    EXPECT_EQ(delta.decay_bias.columns, 16U);
    const auto& latent = std::get<LatentAttentionWeights>(model->layers[2].attention);
    EXPECT_FALSE(latent.query_down.has_value());
    EXPECT_EQ(latent.latent.rows, 12U);
    EXPECT_EQ(latent.shared_key.value().rows, 4U);
    EXPECT_EQ(std::get<MlpWeights>(model->layers[0].mlp).gate.name,
              "model.layers.0." + dense + "gate_proj.weight");
    EXPECT_EQ(std::get<ExpertWeights>(model->layers[2].mlp).down[3].name,
              "model.layers.2." + sparse + "experts.3.w2.weight");
  }
}

TEST(KimiLinearAssembly, AcceptsAnyShapeOfRatesAndNoOtherCount) {
  const std::string name = "model.layers.1.self_attn.A_log";
  TensorList tensors = hub_tensors("mlp.", "block_sparse_moe.");
  for (const testing::Shape& shape : std::vector<testing::Shape>{{2}, {1, 2}, {2, 1, 1}}) {
    EXPECT_TRUE(assemble_hub(tensors.set(name, shape), remote_small()).ok());
  }
  for (const testing::Shape& shape : std::vector<testing::Shape>{{}, {1}, {4}, {0, 2}, {2, 2}}) {
    EXPECT_TRUE(names(assemble_hub(tensors.set(name, shape), remote_small()),
                      {name, "must have 2 elements"}));
  }
}

TEST(KimiLinearAssembly, ListsWhatIsMissingAndUnexpected) {
  TensorList tensors = hub_tensors("mlp.", "block_sparse_moe.");
  tensors.remove("model.layers.0.self_attn.dt_bias").set("model.layers.0.self_attn.g_proj", {1});
  tensors.remove("model.layers.2.block_sparse_moe.experts.1.w3.weight");
  EXPECT_TRUE(names(assemble_hub(tensors, remote_small()),
                    {"some/folder", "lacks 2 tensors", "'model.layers.0.self_attn.dt_bias'",
                     "'model.layers.2.block_sparse_moe.experts.1.w3.weight'", "unexpected 1 tensor",
                     "'model.layers.0.self_attn.g_proj'"}));
  TensorList turned = hub_tensors("mlp.", "block_sparse_moe.");
  turned.set("model.layers.0.self_attn.k_conv1d.weight", {4, 1, 16});
  EXPECT_TRUE(names(assemble_hub(turned, remote_small()),
                    {"model.layers.0.self_attn.k_conv1d.weight", "rows of 4", "[4, 1, 16]"}));
}

MetadataList gguf_metadata() {
  MetadataList list;
  list.set("general.architecture", std::string_view("kimi-linear"));
  for (const auto& [key, value] : std::vector<std::pair<std::string_view, std::uint64_t>>{
           {"kimi-linear.block_count", 3},
           {"kimi-linear.embedding_length", 32},
           {"kimi-linear.context_length", 256},
           {"kimi-linear.feed_forward_length", 48},
           {"kimi-linear.expert_feed_forward_length", 16},
           {"kimi-linear.expert_count", 4},
           {"kimi-linear.expert_used_count", 2},
           {"kimi-linear.expert_shared_count", 1},
           {"kimi-linear.expert_gating_func", 2},
           {"kimi-linear.leading_dense_block_count", 1},
           {"kimi-linear.attention.head_count", 2},
           {"kimi-linear.attention.key_length", 16},
           {"kimi-linear.attention.key_length_mla", 10},
           {"kimi-linear.attention.value_length_mla", 8},
           {"kimi-linear.attention.kv_lora_rank", 12},
           {"kimi-linear.rope.dimension_count", 4},
           {"kimi-linear.kda.head_dim", 8},
           {"kimi-linear.ssm.conv_kernel", 4},
       }) {
    list.set(key, number_of(value));
  }
  list.set("kimi-linear.attention.head_count_kv",
           GgufArray{.items = std::vector<std::uint64_t>{0, 0, 1}});
  list.set("kimi-linear.attention.layer_norm_rms_epsilon", 1e-5);
  list.set("kimi-linear.expert_weights_scale", 2.446);
  return list;
}

void add_gguf_delta(TensorList& list, const std::string& layer) {
  for (const std::string part : {"q", "k", "v"}) {
    list.set(layer + "attn_" + part + ".weight", {16, 32});
    list.set(layer + "ssm_conv1d_" + part + ".weight", {1, 16, 1, 4});
  }
  for (const std::string gate : {"f", "g"}) {
    list.set(layer + "ssm_" + gate + "_a.weight", {8, 32});
    list.set(layer + "ssm_" + gate + "_b.weight", {16, 8});
  }
  list.set(layer + "ssm_beta.weight", {2, 32}).set(layer + "ssm_a", {1, 1, 2, 1});
  list.set(layer + "ssm_dt.bias", {16}).set(layer + "ssm_norm.weight", {8});
  list.set(layer + "attn_output.weight", {32, 16});
}

TensorList gguf_tensors() {
  TensorList list;
  list.set("token_embd.weight", {40, 32}).set("output_norm.weight", {32});
  list.set("output.weight", {40, 32});
  for (const std::string layer : {"blk.0.", "blk.1.", "blk.2."}) {
    list.set(layer + "attn_norm.weight", {32}).set(layer + "ffn_norm.weight", {32});
  }
  add_gguf_delta(list, "blk.0.");
  add_gguf_delta(list, "blk.1.");
  list.set("blk.2.attn_q.weight", {20, 32}).set("blk.2.attn_kv_a_mqa.weight", {16, 32});
  list.set("blk.2.attn_kv_a_norm.weight", {12}).set("blk.2.attn_k_b.weight", {2, 12, 6});
  list.set("blk.2.attn_v_b.weight", {2, 8, 12}).set("blk.2.attn_output.weight", {32, 16});
  testing::add_gguf_mlp(list, "blk.0.");
  testing::add_gguf_experts(list, "blk.1.", true, true);
  testing::add_gguf_experts(list, "blk.2.", true, true);
  return list;
}

ModelFiles gguf_files(const TensorList& tensors, const MetadataList& metadata) {
  ModelFiles files;
  files.path = "some/file.gguf";
  files.tensors = tensors.table();
  files.gguf = metadata.metadata();
  return files;
}

// For errors alone: a model refers to its files.
Result<KimiLinearModel> assemble_gguf(const TensorList& tensors, const MetadataList& metadata) {
  return assemble_kimi_linear(gguf_files(tensors, metadata));
}

TEST(KimiLinearAssembly, BindsGguf) {
  const ModelFiles files = gguf_files(gguf_tensors(), gguf_metadata());
  const auto model = assemble_kimi_linear(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  model_spec::KimiLinear expected = kimi_linear_from_config(parse(kSmall)).value();
  EXPECT_FALSE(model->spec.delta.rates_are_logarithms);
  expected.delta.rates_are_logarithms = false;
  expected.architecture = "kimi-linear";
  expected.max_positions = 256;
  EXPECT_EQ(model->spec, expected);
  const auto& delta = std::get<DeltaAttentionWeights>(model->layers[0].attention);
  EXPECT_EQ(delta.rates.name, "blk.0.ssm_a");
  EXPECT_EQ(delta.value_taps.columns, 64U);
  const auto& latent = std::get<LatentAttentionWeights>(model->layers[2].attention);
  EXPECT_EQ(latent.up_keys_transposed.rows, 24U);
  EXPECT_EQ(std::get<ExpertWeights>(model->layers[2].mlp).gate.size(), 4U);
}

TEST(KimiLinearAssembly, GgufErrorsNameKeyOrTensor) {
  const std::string_view heads = "kimi-linear.attention.head_count_kv";
  EXPECT_TRUE(names(assemble_gguf(gguf_tensors(), gguf_metadata().remove(heads)), {heads}));
  const GgufValue short_list = GgufArray{.items = std::vector<std::uint64_t>{0, 1}};
  EXPECT_TRUE(names(assemble_gguf(gguf_tensors(), gguf_metadata().set(heads, short_list)),
                    {heads, "each of 3"}));
  EXPECT_TRUE(
      names(assemble_gguf(gguf_tensors(), gguf_metadata().remove("kimi-linear.ssm.conv_kernel")),
            {"kimi-linear.ssm.conv_kernel is missing"}));
  EXPECT_TRUE(names(assemble_gguf(gguf_tensors().remove("blk.1.ssm_a"), gguf_metadata()),
                    {"some/file.gguf", "lacks 1 tensor", "blk.1.ssm_a"}));
}

}  // namespace
}  // namespace zllm::weight
