#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/gqa_moe.h>
#include <zllm/weight/assembly/gqa_moe_spec.h>

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
using testing::without;

Result<model_spec::GqaMoe> spec_of(const Json& config) {
  std::vector<std::string> warnings;
  auto spec = gqa_moe_from_config(config, warnings);
  EXPECT_TRUE(warnings.empty());
  return spec;
}

TEST(GqaMoeConfig, ReadsQwen3Moe) {
  const auto spec = spec_of(parse(testing::kQwen3Moe30B));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->architecture, "qwen3_moe");
  EXPECT_EQ(spec->vocabulary, 151936U);
  EXPECT_EQ(spec->layers, 48U);
  EXPECT_EQ(spec->query_heads, 32U);
  EXPECT_EQ(spec->kv_heads, 4U);
  EXPECT_EQ(spec->head, 128U);
  EXPECT_EQ(spec->window, 0U);
  EXPECT_EQ(spec->norm_epsilon, 1e-6);
  EXPECT_EQ(spec->rope.rotated, 128U);
  EXPECT_EQ(spec->rope.theta, 1e6);
  EXPECT_EQ(spec->rope.pairing, rope::Pairing::half);
  EXPECT_TRUE(spec->query_key_norm);
  EXPECT_FALSE(spec->qkv_bias || spec->output_bias);
  EXPECT_EQ(spec->mixture.is_sparse, std::vector<bool>(48, true));
  EXPECT_EQ(spec->mixture.router, (moe::RouterSpec{.experts = 128,
                                                   .top_k = 8,
                                                   .groups = 1,
                                                   .kept_groups = 1,
                                                   .scoring = moe::Scoring::softmax,
                                                   .has_selection_bias = false,
                                                   .normalise = true,
                                                   .scaling = 1.0f}));
  EXPECT_EQ(spec->mixture.shared_intermediate, 0U);
}

TEST(GqaMoeConfig, ReadsGlm45) {
  const auto spec = spec_of(parse(testing::kGlm45));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->head, 128U);
  EXPECT_EQ(spec->rope.rotated, 64U);
  EXPECT_TRUE(spec->query_key_norm);
  EXPECT_TRUE(spec->qkv_bias);
  EXPECT_FALSE(spec->output_bias);
  EXPECT_FALSE(spec->mixture.is_sparse[2]);
  EXPECT_TRUE(spec->mixture.is_sparse[3]);
  EXPECT_EQ(spec->mixture.router.scoring, moe::Scoring::sigmoid);
  EXPECT_TRUE(spec->mixture.router.has_selection_bias);
  EXPECT_EQ(spec->mixture.router.scaling, 2.5f);
  EXPECT_EQ(spec->mixture.shared_intermediate, 1536U);
}

constexpr const char *kGatedQwen = R"({"model_type": "qwen2_moe", "hidden_size": 32,
  "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 40,
  "intermediate_size": 48, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 24,
  "num_experts": 4, "num_experts_per_tok": 2, "decoder_sparse_step": 1, "mlp_only_layers": [1],
  "sliding_window": 0})";

TEST(GqaMoeConfig, ReadsASharedExpertWithAGate) {
  const auto spec = spec_of(parse(kGatedQwen));
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_EQ(spec->mixture.is_sparse, (std::vector<bool>{true, false, true}));
  EXPECT_EQ(spec->mixture.shared_intermediate, 24U);
  EXPECT_TRUE(spec->mixture.shared_gate);
  EXPECT_FALSE(spec->mixture.router.normalise);
  EXPECT_TRUE(spec->qkv_bias);
  EXPECT_FALSE(spec->output_bias || spec->query_key_norm);
  EXPECT_FALSE(spec_of(with(parse(kGatedQwen), "qkv_bias", "false")).value().qkv_bias);
  EXPECT_TRUE(names(spec_of(without(parse(kGatedQwen), "shared_expert_intermediate_size")),
                    {"shared_expert_intermediate_size"}));
  EXPECT_TRUE(names(spec_of(with(parse(kGatedQwen), "use_sliding_window", "true")),
                    {"use_sliding_window"}));
}

TEST(GqaMoeConfig, DefaultsAreThoseOfTheModelType) {
  const Json qwen = parse(testing::kQwen3Moe30B);
  EXPECT_FALSE(spec_of(without(qwen, "norm_topk_prob")).value().mixture.router.normalise);
  EXPECT_EQ(spec_of(without(qwen, "head_dim")).value().head, 64U);
  const Json glm = parse(testing::kGlm45);
  EXPECT_EQ(spec_of(without(glm, "partial_rotary_factor")).value().rope.rotated, 64U);
  EXPECT_FALSE(spec_of(without(glm, "use_qk_norm")).value().query_key_norm);
  EXPECT_TRUE(spec_of(without(glm, "norm_topk_prob")).value().mixture.router.normalise);
  const Json inner = with(without(glm, "partial_rotary_factor"), "rope_parameters",
                          R"({"rope_theta": 1000000, "partial_rotary_factor": 0.25})");
  EXPECT_EQ(spec_of(inner).value().rope.rotated, 32U);
}

TEST(GqaMoeConfig, WindowsNeedTheirSwitch) {
  const Json config = with(parse(testing::kQwen3Moe30B), "sliding_window", "512");
  EXPECT_EQ(spec_of(config).value().window, 0U);
  EXPECT_EQ(spec_of(with(config, "use_sliding_window", "true")).value().window, 512U);
}

TEST(GqaMoeConfig, NamesTheKeyThatIsWrong) {
  struct Case {
    const char *key, *value, *named;
  };
  for (const Case& item : std::vector<Case>{
           {"model_type", "\"qwen3\"", "model_type 'qwen3'"},
           {"architectures", "[\"Glm4MoeForCausalLM\"]", "architectures"},
           {"num_key_value_heads", "5", "num_key_value_heads 5"},
           {"num_local_experts", "64", "num_local_experts 64 contradicts num_experts 128"},
           {"mlp_only_layers", "[48]", "mlp_only_layers"},
           {"layer_types", "[\"full_attention\"]", "layer_types must have one entry"},
           {"layer_types", "[\"mamba\"]", "layer_types 'mamba'"},
           {"quantization_config", R"({"quant_method": "fp8"})",
            "quantization_config.quant_method 'fp8'"},
       }) {
    EXPECT_TRUE(names(spec_of(with(parse(testing::kQwen3Moe30B), item.key, item.value)),
                      {"config.json", item.named}))
        << item.key;
  }
  for (const std::string key : {"vocab_size", "hidden_size", "num_hidden_layers",
                                "num_attention_heads", "head_dim", "max_position_embeddings"}) {
    for (const Json& bad : testing::bad_integers()) {
      EXPECT_TRUE(names(spec_of(with(parse(testing::kGlm45), key, bad)), {key})) << bad.dump();
    }
  }
}

constexpr const char *kSmallGlm = R"({"model_type": "glm4_moe", "hidden_size": 32,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
  "vocab_size": 40, "intermediate_size": 48, "moe_intermediate_size": 16, "n_routed_experts": 4,
  "num_experts_per_tok": 2, "first_k_dense_replace": 1, "use_qk_norm": true,
  "attention_bias": true, "num_nextn_predict_layers": 1, "eos_token_id": [2, 3]})";

void add_attention(TensorList& list, const std::string& attention) {
  list.set(attention + "q_proj.weight", {32, 32}).set(attention + "q_proj.bias", {32});
  list.set(attention + "k_proj.weight", {16, 32}).set(attention + "k_proj.bias", {16});
  list.set(attention + "v_proj.weight", {16, 32}).set(attention + "v_proj.bias", {16});
  list.set(attention + "o_proj.weight", {32, 32});
  list.set(attention + "q_norm.weight", {8}).set(attention + "k_norm.weight", {8});
}

TensorList glm_tensors() {
  TensorList list;
  testing::add_ends(list, "model.", "lm_head.weight");
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    testing::add_norms(list, layer);
    add_attention(list, layer + "self_attn.");
  }
  testing::add_mlp(list, "model.layers.0.mlp.", 48);
  testing::add_router(list, "model.layers.1.mlp.", true, true);
  testing::add_experts(list, "model.layers.1.mlp.");
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
Result<GqaMoeModel> assemble_hub(const TensorList& tensors, const Json& config) {
  return assemble_gqa_moe(hub_files(tensors, config));
}

TEST(GqaMoeAssembly, BindsHubTensors) {
  const ModelFiles files = hub_files(glm_tensors(), parse(kSmallGlm));
  const auto model = assemble_gqa_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->layers.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<MlpWeights>(model->layers[0].mlp));
  EXPECT_EQ(std::get<ExpertWeights>(model->layers[1].mlp).down.size(), 4U);
  EXPECT_TRUE(model->layers[1].attention.key_bias.has_value());
  EXPECT_FALSE(model->layers[1].attention.output_bias.has_value());
  EXPECT_EQ(model->layers[1].attention.key_norm.value().columns, 8U);
  EXPECT_EQ(model->ends.head.rows, 40U);
  EXPECT_EQ(model->facts.end_tokens, (std::vector<TokenId>{2, 3}));
}

TEST(GqaMoeAssembly, TakesSharedExpertsWithoutElements) {
  TensorList tensors = glm_tensors();
  const std::string shared = "model.layers.1.mlp.shared_experts.";
  tensors.set(shared + "gate_proj.weight", {0, 32}).set(shared + "up_proj.weight", {0, 32});
  tensors.set(shared + "down_proj.weight", {32, 0});
  const auto model = assemble_hub(tensors, with(parse(kSmallGlm), "n_shared_experts", "0"));
  EXPECT_TRUE(model.ok()) << model.error().message;
  EXPECT_TRUE(names(assemble_hub(tensors, parse(kSmallGlm)), {shared}));
}

TEST(GqaMoeAssembly, KnowsDraftLayersAndNoOthers) {
  TensorList tensors = glm_tensors();
  tensors.set("model.layers.2.eh_proj.weight", {32, 64});
  EXPECT_TRUE(assemble_hub(tensors, parse(kSmallGlm)).ok());
  EXPECT_TRUE(names(assemble_hub(tensors, with(parse(kSmallGlm), "num_nextn_predict_layers", "0")),
                    {"some/folder", "unexpected 1 tensor", "model.layers.2.eh_proj.weight"}));
  tensors.set("model.layers.22.eh_proj.weight", {32, 64}).remove("model.norm.weight");
  EXPECT_TRUE(names(assemble_hub(tensors, parse(kSmallGlm)),
                    {"lacks 1 tensor", "'model.norm.weight'", "model.layers.22.eh_proj.weight"}));
}

MetadataList gguf_metadata(std::string_view architecture) {
  const bool is_glm = architecture == "glm4moe";
  MetadataList list;
  list.set("general.architecture", architecture);
  // Keys must outlive the list, so that both families are spelt out.
  const auto set = [&](std::string_view glm, std::string_view qwen, std::uint64_t value) {
    list.set(is_glm ? glm : qwen, number_of(value));
  };
  set("glm4moe.block_count", "qwen3moe.block_count", is_glm ? 3 : 2);
  set("glm4moe.embedding_length", "qwen3moe.embedding_length", 32);
  set("glm4moe.context_length", "qwen3moe.context_length", 256);
  set("glm4moe.feed_forward_length", "qwen3moe.feed_forward_length", 48);
  set("glm4moe.expert_feed_forward_length", "qwen3moe.expert_feed_forward_length", 16);
  set("glm4moe.expert_count", "qwen3moe.expert_count", 4);
  set("glm4moe.expert_used_count", "qwen3moe.expert_used_count", 2);
  set("glm4moe.attention.head_count", "qwen3moe.attention.head_count", 4);
  set("glm4moe.attention.head_count_kv", "qwen3moe.attention.head_count_kv", 2);
  set("glm4moe.attention.key_length", "qwen3moe.attention.key_length", 8);
  set("glm4moe.attention.value_length", "qwen3moe.attention.value_length", 8);
  set("glm4moe.rope.dimension_count", "qwen3moe.rope.dimension_count", is_glm ? 4 : 8);
  list.set(is_glm ? "glm4moe.attention.layer_norm_rms_epsilon"
                  : "qwen3moe.attention.layer_norm_rms_epsilon",
           1e-5);
  if (is_glm) {
    list.set("glm4moe.nextn_predict_layers", number_of(1));
    list.set("glm4moe.leading_dense_block_count", number_of(1));
    list.set("glm4moe.expert_shared_count", number_of(1));
    list.set("glm4moe.expert_weights_scale", 2.5);
    list.set("glm4moe.expert_weights_norm", true);
    list.set("glm4moe.expert_gating_func", number_of(2));
  }
  return list;
}

TensorList gguf_tensors(bool is_glm) {
  TensorList list;
  list.set("token_embd.weight", {40, 32}).set("output_norm.weight", {32});
  list.set("output.weight", {40, 32});
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    list.set(layer + "attn_norm.weight", {32});
    list.set(layer + (is_glm ? "post_attention_norm.weight" : "ffn_norm.weight"), {32});
    list.set(layer + "attn_q.weight", {32, 32}).set(layer + "attn_k.weight", {16, 32});
    list.set(layer + "attn_v.weight", {16, 32}).set(layer + "attn_output.weight", {32, 32});
    list.set(layer + "attn_q_norm.weight", {8}).set(layer + "attn_k_norm.weight", {8});
  }
  if (is_glm) {
    testing::add_gguf_mlp(list, "blk.0.");
    list.set("blk.2.nextn.eh_proj.weight", {32, 64});
  } else {
    testing::add_gguf_experts(list, "blk.0.", false, false);
  }
  testing::add_gguf_experts(list, "blk.1.", is_glm, is_glm);
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
Result<GqaMoeModel> assemble_gguf(const TensorList& tensors, const MetadataList& metadata) {
  return assemble_gqa_moe(gguf_files(tensors, metadata));
}

TEST(GqaMoeAssembly, BindsQwen3MoeFromGguf) {
  const ModelFiles files = gguf_files(gguf_tensors(false), gguf_metadata("qwen3moe"));
  const auto model = assemble_gqa_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->spec.layers, 2U);
  EXPECT_EQ(model->spec.mixture.router.scoring, moe::Scoring::softmax);
  EXPECT_TRUE(model->spec.mixture.router.normalise);
  EXPECT_FALSE(model->spec.mixture.router.has_selection_bias);
  EXPECT_TRUE(model->spec.query_key_norm);
  EXPECT_EQ(model->spec.rope.pairing, rope::Pairing::half);
  EXPECT_EQ(std::get<ExpertWeights>(model->layers[0].mlp).gate.size(), 4U);
  EXPECT_EQ(model->layers[0].mlp_norm.name, "blk.0.ffn_norm.weight");
}

TEST(GqaMoeAssembly, BindsGlm4MoeFromGguf) {
  const ModelFiles files = gguf_files(gguf_tensors(true), gguf_metadata("glm4moe"));
  const auto model = assemble_gqa_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->spec.layers, 2U);
  EXPECT_EQ(model->spec.rope.rotated, 4U);
  EXPECT_EQ(model->spec.mixture.router.scaling, 2.5f);
  EXPECT_EQ(model->spec.mixture.router.scoring, moe::Scoring::sigmoid);
  EXPECT_TRUE(std::holds_alternative<MlpWeights>(model->layers[0].mlp));
  const auto& experts = std::get<ExpertWeights>(model->layers[1].mlp);
  EXPECT_TRUE(experts.selection_bias && experts.shared);
  EXPECT_EQ(model->layers[1].mlp_norm.name, "blk.1.post_attention_norm.weight");
}

TEST(GqaMoeAssembly, GgufErrorsNameKeyOrTensor) {
  const TensorList tensors = gguf_tensors(true);
  struct Case {
    const char *key;
    std::uint64_t value;
    const char *named;
  };
  for (const Case& item : std::vector<Case>{
           {"glm4moe.expert_gating_func", 4, "glm4moe.expert_gating_func 4"},
           {"glm4moe.nextn_predict_layers", 3, "glm4moe.nextn_predict_layers 3"},
           {"glm4moe.expert_used_count", 5, "glm4moe.expert_used_count chooses 5 of 4"},
           {"glm4moe.attention.head_count_kv", 3, "glm4moe.attention.head_count_kv 3"},
           {"glm4moe.expert_shared_count", 0, "unexpected 3 tensors"},
       }) {
    const MetadataList metadata = gguf_metadata("glm4moe").set(item.key, number_of(item.value));
    EXPECT_TRUE(names(assemble_gguf(tensors, metadata), {"some/file.gguf", item.named}))
        << item.key;
  }
  const MetadataList none = gguf_metadata("glm4moe").remove("glm4moe.nextn_predict_layers");
  EXPECT_TRUE(names(assemble_gguf(tensors, none), {"blk.2.attn_q.weight"}));
}

}  // namespace
}  // namespace zllm::weight
