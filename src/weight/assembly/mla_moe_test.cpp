#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/mla_moe.h>

#include "testing/edited_json.h"
#include "testing/small_latent_model.h"

namespace zllm::weight {
namespace {

using encoding::Encoding;
using encoding::WeightView;
using testing::gguf_deepseek2_metadata;
using testing::gguf_deepseek2_tensors;
using testing::gguf_latent_metadata;
using testing::gguf_latent_tensors;
using testing::hub_latent_tensors;
using testing::kLatentConfig;
using testing::MetadataList;
using testing::names;
using testing::number_of;
using testing::parse;
using testing::put;
using testing::TensorList;
using testing::with;
using testing::without;

ModelFiles hub_files(const TensorList& tensors, const Json& config = parse(kLatentConfig)) {
  ModelFiles files;
  files.path = "some/folder";
  files.tensors = tensors.table();
  files.config = config;
  return files;
}

ModelFiles gguf_files(const TensorList& tensors,
                      const MetadataList& metadata = gguf_latent_metadata()) {
  ModelFiles files;
  files.path = "some/file.gguf";
  files.tensors = tensors.table();
  files.gguf = metadata.metadata();
  return files;
}

void expect_view(const WeightView& view, std::string_view name, std::uint64_t rows,
                 std::uint64_t columns) {
  EXPECT_EQ(view.name, name);
  EXPECT_EQ(view.rows, rows) << name;
  EXPECT_EQ(view.columns, columns) << name;
  EXPECT_EQ(view.bytes.size(), rows * encoding::row_bytes(view.encoding, columns).value()) << name;
}

TEST(MlaMoeAssembly, BindsHubTensors) {
  const ModelFiles files = hub_files(hub_latent_tensors());
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->facts.path, "some/folder");
  EXPECT_EQ(model->facts.begin_token, 1);
  EXPECT_EQ(model->facts.end_tokens, (std::vector<TokenId>{2, 3}));
  EXPECT_TRUE(model->facts.warnings.empty());
  expect_view(model->ends.embedding, "model.embed_tokens.weight", 40, 32);
  expect_view(model->ends.final_norm, "model.norm.weight", 1, 32);
  expect_view(model->ends.head, "lm_head.weight", 40, 32);
  ASSERT_EQ(model->layers.size(), 4U);
  const MlaMoeLayer& layer = model->layers[2];
  const std::string prefix = "model.layers.2.";
  expect_view(layer.attention_norm, prefix + "input_layernorm.weight", 1, 32);
  expect_view(layer.mlp_norm, prefix + "post_attention_layernorm.weight", 1, 32);
  const LatentAttentionWeights& attention = layer.attention;
  expect_view(attention.query_down.value(), prefix + "self_attn.q_a_proj.weight", 12, 32);
  expect_view(attention.query_norm.value(), prefix + "self_attn.q_a_layernorm.weight", 1, 12);
  expect_view(attention.query, prefix + "self_attn.q_b_proj.weight", 20, 12);
  expect_view(attention.latent_norm, prefix + "self_attn.kv_a_layernorm.weight", 1, 8);
  expect_view(attention.up_fused, prefix + "self_attn.kv_b_proj.weight", 22, 8);
  expect_view(attention.output, prefix + "self_attn.o_proj.weight", 32, 10);
  EXPECT_TRUE(attention.up_keys_transposed.bytes.empty());
  EXPECT_FALSE(attention.output_bias || attention.latent_bias || attention.query_down_bias);
}

TEST(MlaMoeAssembly, LatentAndSharedKeyAreRowsOfOneTensor) {
  const ModelFiles files = hub_files(hub_latent_tensors());
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const LatentAttentionWeights& attention = model->layers[1].attention;
  const std::string name = "model.layers.1.self_attn.kv_a_proj_with_mqa.weight";
  expect_view(attention.latent, name, 8, 32);
  ASSERT_TRUE(attention.shared_key.has_value());
  expect_view(*attention.shared_key, name, 4, 32);
  EXPECT_EQ(attention.shared_key->bytes.data(),
            attention.latent.bytes.data() + attention.latent.bytes.size());
}

TEST(MlaMoeAssembly, BindsIndexersWhereTheyAreFull) {
  const ModelFiles files = hub_files(hub_latent_tensors());
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_FALSE(model->layers[1].indexer || model->layers[3].indexer);
  ASSERT_TRUE(model->layers[0].indexer && model->layers[2].indexer);
  const IndexerWeights& indexer = *model->layers[2].indexer;
  const std::string prefix = "model.layers.2.self_attn.indexer.";
  expect_view(indexer.query, prefix + "wq_b.weight", 16, 12);
  expect_view(indexer.key, prefix + "wk.weight", 8, 32);
  expect_view(indexer.key_norm, prefix + "k_norm.weight", 1, 8);
  expect_view(indexer.key_norm_bias, prefix + "k_norm.bias", 1, 8);
  expect_view(indexer.weights, prefix + "weights_proj.weight", 2, 32);
  EXPECT_FALSE(indexer.gates || indexer.position_bias);
}

TEST(MlaMoeAssembly, BindsDenseAndSparseBlocks) {
  const ModelFiles files = hub_files(hub_latent_tensors());
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto *dense = std::get_if<MlpWeights>(&model->layers[0].mlp);
  ASSERT_NE(dense, nullptr);
  expect_view(dense->down, "model.layers.0.mlp.down_proj.weight", 32, 48);
  const auto *experts = std::get_if<ExpertWeights>(&model->layers[3].mlp);
  ASSERT_NE(experts, nullptr);
  expect_view(experts->router, "model.layers.3.mlp.gate.weight", 4, 32);
  expect_view(experts->selection_bias.value(), "model.layers.3.mlp.gate.e_score_correction_bias", 1,
              4);
  ASSERT_EQ(experts->up.size(), 4U);
  expect_view(experts->up[3], "model.layers.3.mlp.experts.3.up_proj.weight", 16, 32);
  ASSERT_TRUE(experts->shared.has_value());
  expect_view(experts->shared->gate, "model.layers.3.mlp.shared_experts.gate_proj.weight", 16, 32);
}

TEST(MlaMoeAssembly, BindsFusedExperts) {
  TensorList tensors = hub_latent_tensors().remove_all(".experts.");
  for (const std::string layer : {"1", "2", "3"}) {
    put(tensors, "model.layers." + layer + ".mlp.experts.gate_up_proj", {4, 32, 32});
    put(tensors, "model.layers." + layer + ".mlp.experts.down_proj", {4, 32, 16});
  }
  const ModelFiles files = hub_files(tensors);
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const auto& experts = std::get<ExpertWeights>(model->layers[1].mlp);
  ASSERT_EQ(experts.gate.size(), 4U);
  expect_view(experts.up[3], "model.layers.1.mlp.experts.gate_up_proj", 16, 32);
}

TEST(MlaMoeAssembly, FindsTheDecoderUnderEveryPrefix) {
  for (const auto& [prefix, head] :
       {std::pair("", "lm_head.weight"), std::pair("model.", "lm_head.weight"),
        std::pair("language_model.model.", "language_model.lm_head.weight"),
        std::pair("model.language_model.", "lm_head.weight")}) {
    const ModelFiles files = hub_files(hub_latent_tensors(prefix, head));
    const auto model = assemble_mla_moe(files);
    ASSERT_TRUE(model.ok()) << prefix << model.error().message;
    EXPECT_EQ(model->ends.head.name, head);
    EXPECT_EQ(model->layers[3].mlp_norm.name,
              std::string(prefix) + "layers.3.post_attention_layernorm.weight");
  }
}

TEST(MlaMoeAssembly, BindsBiasesOfTheDownProjectionsAndTheOutput) {
  TensorList tensors = hub_latent_tensors();
  for (const std::string layer : {"0", "1", "2", "3"}) {
    const std::string attention = "model.layers." + layer + ".self_attn.";
    put(tensors, attention + "q_a_proj.bias", {12}, Encoding::bf16);
    put(tensors, attention + "kv_a_proj_with_mqa.bias", {12}, Encoding::bf16);
    put(tensors, attention + "o_proj.bias", {32}, Encoding::bf16);
  }
  const ModelFiles files = hub_files(tensors, with(parse(kLatentConfig), "attention_bias", "true"));
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const LatentAttentionWeights& attention = model->layers[0].attention;
  const std::string prefix = "model.layers.0.self_attn.";
  expect_view(attention.query_down_bias.value(), prefix + "q_a_proj.bias", 1, 12);
  expect_view(attention.output_bias.value(), prefix + "o_proj.bias", 1, 32);
  expect_view(attention.latent_bias.value(), prefix + "kv_a_proj_with_mqa.bias", 1, 8);
  expect_view(attention.shared_key_bias.value(), prefix + "kv_a_proj_with_mqa.bias", 1, 4);
  EXPECT_EQ(attention.shared_key_bias->bytes.data(), attention.latent_bias->bytes.data() + 16);
  EXPECT_TRUE(names(assemble_mla_moe(hub_files(tensors)), {"unexpected 12 tensors"}));
}

TEST(MlaMoeAssembly, WithoutQueryRankThereIsOneQueryMatrix) {
  Json config = with(parse(kLatentConfig), "model_type", R"("deepseek_v3")");
  config = with(with(config, "n_group", "1"), "topk_group", "1");
  config = with(without(config, "indexer_types"), "q_lora_rank", "null");
  TensorList tensors = hub_latent_tensors().remove_all("indexer").remove_all(".q_");
  for (const std::string layer : {"0", "1", "2", "3"}) {
    put(tensors, "model.layers." + layer + ".self_attn.q_proj.weight", {20, 32});
  }
  const ModelFiles files = hub_files(tensors, config);
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_FALSE(model->layers[0].attention.query_down || model->layers[0].attention.query_norm);
  expect_view(model->layers[0].attention.query, "model.layers.0.self_attn.q_proj.weight", 20, 32);
  EXPECT_FALSE(model->layers[0].indexer.has_value());
}

TEST(MlaMoeAssembly, IgnoresLayersThatDraft) {
  TensorList tensors = hub_latent_tensors();
  put(tensors, "model.layers.4.eh_proj.weight", {32, 64});
  put(tensors, "model.layers.4.self_attn.indexer.wk.weight", {8, 32});
  put(tensors, "model.layers.0.self_attn.rotary_emb.inv_freq", {2});
  const Json config = parse(kLatentConfig);
  EXPECT_TRUE(assemble_mla_moe(hub_files(tensors)).ok());
  EXPECT_TRUE(
      assemble_mla_moe(hub_files(tensors, with(config, "num_nextn_predict_layers", "1"))).ok());
  EXPECT_TRUE(
      names(assemble_mla_moe(hub_files(tensors, with(config, "num_nextn_predict_layers", "0"))),
            {"unexpected 2 tensors", "model.layers.4.eh_proj.weight"}));
  put(tensors, "model.layers.40.eh_proj.weight", {32, 64});
  EXPECT_TRUE(names(assemble_mla_moe(hub_files(tensors)),
                    {"unexpected 1 tensor", "model.layers.40.eh_proj.weight"}));
}

TEST(MlaMoeAssembly, IndexersOfLayersThatShareAreKnown) {
  TensorList tensors = hub_latent_tensors();
  testing::put_hub_indexer(tensors, "model.layers.1.");
  const ModelFiles files = hub_files(tensors);
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_FALSE(model->layers[1].indexer.has_value());
  put(tensors, "model.layers.1.self_attn.indexer.other.weight", {8, 32});
  EXPECT_TRUE(names(assemble_mla_moe(hub_files(tensors)), {"unexpected", "indexer.other.weight"}));
}

TEST(MlaMoeAssembly, ListsMissingAndUnexpectedTensors) {
  TensorList tensors = hub_latent_tensors();
  tensors.remove("model.layers.0.self_attn.indexer.k_norm.bias");
  tensors.remove("model.layers.1.self_attn.kv_a_proj_with_mqa.weight");
  tensors.remove("model.layers.2.mlp.experts.1.up_proj.weight");
  put(tensors, "strange", {1});
  EXPECT_TRUE(
      names(assemble_mla_moe(hub_files(tensors)),
            {"some/folder", "lacks 3 tensors", "'model.layers.0.self_attn.indexer.k_norm.bias'",
             "'model.layers.1.self_attn.kv_a_proj_with_mqa.weight'",
             "'model.layers.2.mlp.experts.1.up_proj.weight'", "unexpected 1 tensor", "'strange'"}));
}

TEST(MlaMoeAssembly, RefusesWrongShapesByName) {
  for (const char *name :
       {"model.layers.0.self_attn.q_a_proj.weight", "model.layers.0.self_attn.q_b_proj.weight",
        "model.layers.0.self_attn.kv_a_proj_with_mqa.weight",
        "model.layers.0.self_attn.kv_b_proj.weight", "model.layers.0.self_attn.o_proj.weight",
        "model.layers.0.self_attn.indexer.wq_b.weight",
        "model.layers.0.self_attn.indexer.weights_proj.weight", "model.layers.1.mlp.gate.weight"}) {
    TensorList tensors = hub_latent_tensors();
    put(tensors, name, {7, 16});
    EXPECT_TRUE(names(assemble_mla_moe(hub_files(tensors)), {name, "must have shape"})) << name;
  }
}

TEST(MlaMoeAssembly, TiedEmbeddings) {
  const Json config = with(parse(kLatentConfig), "tie_word_embeddings", "true");
  const ModelFiles files = hub_files(hub_latent_tensors().remove("lm_head.weight"), config);
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->ends.head.name, "model.embed_tokens.weight");
  const auto lost = assemble_mla_moe(hub_files(hub_latent_tensors().remove("lm_head.weight")));
  EXPECT_TRUE(names(lost, {"lacks", "lm_head.weight"}));
}

TEST(MlaMoeAssembly, BindsGgufTensors) {
  const ModelFiles files = gguf_files(gguf_latent_tensors());
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->layers.size(), 4U);
  EXPECT_EQ(model->facts.end_tokens, std::vector<TokenId>{2});
  expect_view(model->ends.head, "output.weight", 40, 32);
  const MlaMoeLayer& layer = model->layers[2];
  const LatentAttentionWeights& attention = layer.attention;
  expect_view(attention.query, "blk.2.attn_q_b.weight", 20, 12);
  expect_view(attention.latent, "blk.2.attn_kv_a_mqa.weight", 8, 32);
  expect_view(attention.shared_key.value(), "blk.2.attn_kv_a_mqa.weight", 4, 32);
  expect_view(attention.up_keys_transposed, "blk.2.attn_k_b.weight", 16, 6);
  expect_view(attention.up_values, "blk.2.attn_v_b.weight", 10, 8);
  EXPECT_TRUE(attention.up_fused.bytes.empty());
  expect_view(layer.indexer.value().weights, "blk.2.indexer.proj.weight", 2, 32);
  EXPECT_FALSE(model->layers[1].indexer.has_value());
  const auto& experts = std::get<ExpertWeights>(layer.mlp);
  ASSERT_EQ(experts.down.size(), 4U);
  expect_view(experts.down[1], "blk.2.ffn_down_exps.weight", 32, 16);
  EXPECT_EQ(experts.down[1].bytes.data(),
            experts.down[0].bytes.data() + experts.down[0].bytes.size());
  expect_view(experts.shared.value().up, "blk.2.ffn_up_shexp.weight", 16, 32);
  expect_view(std::get<MlpWeights>(model->layers[0].mlp).gate, "blk.0.ffn_gate.weight", 48, 32);
}

TEST(MlaMoeAssembly, GgufMayHaveTheOlderFusedForm) {
  TensorList tensors = gguf_deepseek2_tensors();
  MetadataList metadata = gguf_deepseek2_metadata();
  for (const std::string block : {"blk.0.", "blk.1.", "blk.2.", "blk.3."}) {
    tensors.remove(block + "attn_k_b.weight").remove(block + "attn_v_b.weight");
    put(tensors, block + "attn_kv_b.weight", {22, 8});
  }
  metadata.remove("deepseek2.attention.key_length_mla");
  metadata.remove("deepseek2.attention.value_length_mla");
  metadata.set("deepseek2.attention.key_length", number_of(10));
  metadata.set("deepseek2.attention.value_length", number_of(5));
  metadata.set("deepseek2.attention.head_count_kv", number_of(2));
  const ModelFiles files = gguf_files(tensors, metadata);
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  expect_view(model->layers[3].attention.up_fused, "blk.3.attn_kv_b.weight", 22, 8);
  EXPECT_TRUE(model->layers[3].attention.up_values.bytes.empty());
}

TEST(MlaMoeAssembly, OfBothFormsTheSplitOneCounts) {
  TensorList tensors = gguf_deepseek2_tensors();
  for (const std::string block : {"blk.0.", "blk.1.", "blk.2.", "blk.3."}) {
    put(tensors, block + "attn_kv_b.weight", {22, 8});
  }
  const ModelFiles files = gguf_files(tensors, gguf_deepseek2_metadata());
  const auto model = assemble_mla_moe(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  expect_view(model->layers[1].attention.up_values, "blk.1.attn_v_b.weight", 10, 8);
  EXPECT_TRUE(model->layers[1].attention.up_fused.bytes.empty());
}

TEST(MlaMoeAssembly, ListsWhatGgufLacks) {
  TensorList tensors = gguf_latent_tensors();
  tensors.remove("blk.1.attn_v_b.weight").remove("blk.2.indexer.attn_k.weight");
  tensors.remove("blk.3.ffn_up_exps.weight").remove("blk.1.indexer.attn_k.weight");
  put(tensors, "blk.5.attn_norm.weight", {32});
  EXPECT_TRUE(names(assemble_mla_moe(gguf_files(tensors)),
                    {"some/file.gguf", "lacks 3 tensors", "'blk.1.attn_v_b.weight'",
                     "'blk.2.indexer.attn_k.weight'", "'blk.3.ffn_up_exps.weight'",
                     "unexpected 1 tensor", "'blk.5.attn_norm.weight'"}));
}

TEST(MlaMoeAssembly, GgufMayLeaveOutTheLayerThatDrafts) {
  const TensorList tensors = gguf_latent_tensors().remove_all("blk.4.");
  EXPECT_TRUE(assemble_mla_moe(gguf_files(tensors)).ok());
}

TEST(MlaMoeAssembly, NeedsAnyDescription) {
  EXPECT_TRUE(names(assemble_mla_moe(ModelFiles()), {"config.json"}));
}

}  // namespace
}  // namespace zllm::weight
