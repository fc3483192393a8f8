#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/dense_decoder.h>

#include "testing/edited_json.h"
#include "testing/small_model.h"

namespace zllm::weight {
namespace {

using encoding::Encoding;
using testing::gguf_metadata;
using testing::gguf_tensors;
using testing::hub_tensors;
using testing::kHubConfig;
using testing::MetadataList;
using testing::names;
using testing::number_of;
using testing::parse;
using testing::TensorList;
using testing::with;

ModelFiles hub_files(const TensorList& tensors, const Json& config = parse(kHubConfig)) {
  ModelFiles files;
  files.path = "some/folder";
  files.tensors = tensors.table();
  files.config = config;
  return files;
}

ModelFiles gguf_files(const TensorList& tensors, const MetadataList& metadata = gguf_metadata()) {
  ModelFiles files;
  files.path = "some/file.gguf";
  files.tensors = tensors.table();
  files.gguf = metadata.metadata();
  return files;
}

// The error of a model whose one tensor is another.
Result<DenseDecoderModel> with_tensor(const std::string& name, testing::Shape shape,
                                      Encoding encoding = Encoding::f32) {
  return assemble_dense_decoder(gguf_files(gguf_tensors().set(name, std::move(shape), encoding)));
}

TEST(DenseDecoderAssembly, BindsHubTensors) {
  const ModelFiles files = hub_files(hub_tensors());
  const auto model = assemble_dense_decoder(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  ASSERT_EQ(model->layers.size(), 2U);
  const DenseDecoderLayer& layer = model->layers[1];
  EXPECT_EQ(layer.attention.key.name, "model.layers.1.self_attn.k_proj.weight");
  EXPECT_EQ(layer.attention.key.rows, 16U);
  EXPECT_EQ(layer.attention.key.columns, 32U);
  EXPECT_EQ(layer.mlp.down.rows, 32U);
  EXPECT_EQ(layer.mlp_norm.name, "model.layers.1.post_attention_layernorm.weight");
  EXPECT_EQ(layer.mlp_norm.rows, 1U);
  EXPECT_FALSE(layer.attention.query_bias || layer.attention.output_bias || layer.mlp.gate_bias ||
               layer.attention.query_norm);
  EXPECT_EQ(model->ends.head.name, model->ends.embedding.name);
  EXPECT_EQ(model->facts.end_tokens, std::vector<TokenId>{2});
  EXPECT_EQ(model->facts.begin_token, 1);
}

TEST(DenseDecoderAssembly, BindsNamesWithoutPrefix) {
  const ModelFiles files = hub_files(hub_tensors(""));
  const auto model = assemble_dense_decoder(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->ends.embedding.name, "embed_tokens.weight");
}

TEST(DenseDecoderAssembly, BindsBiasesAndNorms) {
  TensorList tensors = gguf_tensors();
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    tensors.set(layer + "attn_q.bias", {32}).set(layer + "attn_k.bias", {16});
    tensors.set(layer + "attn_v.bias", {16}).set(layer + "attn_output.bias", {32});
    tensors.set(layer + "ffn_gate.bias", {48}).set(layer + "ffn_up.bias", {48});
    tensors.set(layer + "ffn_down.bias", {32});
  }
  const ModelFiles files = gguf_files(tensors);
  const auto model = assemble_dense_decoder(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  const DenseDecoderLayer& layer = model->layers[1];
  EXPECT_EQ(layer.attention.value_bias.value().name, "blk.1.attn_v.bias");
  EXPECT_EQ(layer.mlp.down_bias.value().columns, 32U);
  const auto half = assemble_dense_decoder(gguf_files(tensors.remove("blk.1.attn_v.bias")));
  EXPECT_TRUE(names(half, {"lacks 1 tensor", "blk.1.attn_v.bias"}));
}

TEST(DenseDecoderAssembly, ListsMissingAndUnexpectedTensors) {
  TensorList tensors = gguf_tensors();
  tensors.remove("blk.1.ffn_up.weight").remove("output_norm.weight");
  tensors.set("blk.2.attn_norm.weight", {32}).set("strange", {1});
  const auto model = assemble_dense_decoder(gguf_files(tensors));
  EXPECT_TRUE(names(
      model, {"some/file.gguf", "lacks 2 tensors", "'blk.1.ffn_up.weight'", "'output_norm.weight'",
              "unexpected 2 tensors", "'blk.2.attn_norm.weight'", "'strange'"}));
}

TEST(DenseDecoderAssembly, BoundsItsLists) {
  const auto model = assemble_dense_decoder(gguf_files(TensorList()));
  EXPECT_TRUE(names(model, {"lacks 20 tensors", "and 8 more"}));
  EXPECT_LT(model.error().message.size(), 1000U);
}

TEST(DenseDecoderAssembly, IgnoresKnownBuffers) {
  TensorList tensors = hub_tensors();
  tensors.set("model.layers.0.self_attn.rotary_emb.inv_freq", {4});
  EXPECT_TRUE(assemble_dense_decoder(hub_files(tensors)).ok());
}

TEST(DenseDecoderAssembly, RefusesWrongShapesByName) {
  for (const testing::Shape& shape :
       {testing::Shape{16, 32}, {32}, {}, {32, 32, 1}, {0, 32}, {32, 0}}) {
    EXPECT_TRUE(names(with_tensor("blk.1.attn_q.weight", shape),
                      {"blk.1.attn_q.weight", "must have shape [32, 32]", "found ["}));
  }
  EXPECT_TRUE(names(with_tensor("blk.0.attn_norm.weight", {1, 32}),
                    {"blk.0.attn_norm.weight", "[32]", "found [1, 32]"}));
  EXPECT_TRUE(names(with_tensor("token_embd.weight", {40, 16}), {"token_embd.weight"}));
}

TEST(DenseDecoderAssembly, ChecksEncodings) {
  EXPECT_TRUE(with_tensor("blk.0.attn_q.weight", {32, 32}, Encoding::q8_0).ok());
  EXPECT_TRUE(names(with_tensor("blk.0.ffn_down.weight", {32, 48}, Encoding::q8_0),
                    {"blk.0.ffn_down.weight", "48", "32", "Q8_0"}));
  EXPECT_TRUE(names(with_tensor("blk.0.attn_q.weight", {32, 32}, Encoding::i32),
                    {"blk.0.attn_q.weight", "I32"}));
  for (const Encoding encoding : {Encoding::f16, Encoding::bf16}) {
    EXPECT_TRUE(with_tensor("blk.0.attn_norm.weight", {32}, encoding).ok());
  }
  for (const Encoding encoding : {Encoding::q8_0, Encoding::f64, Encoding::i8}) {
    EXPECT_TRUE(names(with_tensor("blk.0.attn_norm.weight", {32}, encoding),
                      {"blk.0.attn_norm.weight", "F32, F16 or BF16"}));
  }
}

TEST(DenseDecoderAssembly, AnUntiedHeadIsItsOwn) {
  TensorList tensors = hub_tensors().set("lm_head.weight", {40, 32}, Encoding::f16);
  const Json untied = with(parse(kHubConfig), "tie_word_embeddings", "false");
  const ModelFiles files = hub_files(tensors, untied);
  const auto model = assemble_dense_decoder(files);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->ends.head.encoding, Encoding::f16);
  EXPECT_FALSE(model->spec.tied_embeddings);
  const auto lost = assemble_dense_decoder(hub_files(tensors.remove("lm_head.weight"), untied));
  EXPECT_TRUE(names(lost, {"lacks", "lm_head.weight"}));
}

TEST(DenseDecoderAssembly, AHeadBesideTiedEmbeddingsCountsOnlyWhenItDiffers) {
  const std::array<float, 2> embedding = {1, 2};
  const std::array<float, 2> other = {1, 3};
  TensorList tensors = hub_tensors();
  tensors.set("model.embed_tokens.weight", {40, 32}, Encoding::f32, testing::bytes_of(embedding));
  tensors.set("lm_head.weight", {40, 32}, Encoding::f32, testing::bytes_of(embedding));
  const ModelFiles equal_files = hub_files(tensors);
  const auto equal = assemble_dense_decoder(equal_files);
  ASSERT_TRUE(equal.ok()) << equal.error().message;
  EXPECT_TRUE(equal->spec.tied_embeddings);
  EXPECT_EQ(equal->ends.head.name, "model.embed_tokens.weight");
  EXPECT_TRUE(equal->facts.warnings.empty());
  tensors.set("lm_head.weight", {40, 32}, Encoding::f32, testing::bytes_of(other));
  const ModelFiles different_files = hub_files(tensors);
  const auto different = assemble_dense_decoder(different_files);
  ASSERT_TRUE(different.ok());
  EXPECT_FALSE(different->spec.tied_embeddings);
  EXPECT_EQ(different->ends.head.name, "lm_head.weight");
  EXPECT_EQ(different->facts.warnings.size(), 1U);
}

TEST(DenseDecoderAssembly, RefusesEndTokensBeyondTheVocabulary) {
  const MetadataList metadata = gguf_metadata().set("tokenizer.ggml.eos_token_id", number_of(40));
  EXPECT_TRUE(names(assemble_dense_decoder(gguf_files(gguf_tensors(), metadata)),
                    {"some/file.gguf", "tokenizer.ggml.eos_token_id"}));
  const Json config = with(parse(kHubConfig), "eos_token_id", "40");
  EXPECT_TRUE(names(assemble_dense_decoder(hub_files(hub_tensors(), config)),
                    {"some/folder", "eos_token_id"}));
}

TEST(DenseDecoderAssembly, NeedsAnyDescription) {
  EXPECT_TRUE(names(assemble_dense_decoder(ModelFiles()), {"config.json"}));
}

TEST(DenseDecoderAssembly, AssemblesEveryFixture) {
  for (const std::string name :
       {"llama-llama3", "llama-linear", "llama-dynamic", "llama-yarn", "llama-longrope",
        "mistral-window", "qwen2-window", "qwen3-wide", "llama-gguf-f16/model.gguf",
        "qwen2-gguf-f32/model.gguf", "qwen3-gguf-q8/model.gguf", "llama-gguf-q8-yarn/model.gguf"}) {
    const auto files = open_model("test/fixtures/models/" + name);
    ASSERT_TRUE(files.ok()) << files.error().message;
    const auto model = assemble_dense_decoder(*files);
    ASSERT_TRUE(model.ok()) << model.error().message;
    EXPECT_TRUE(model->facts.warnings.empty()) << name << ": " << model->facts.warnings.front();
    EXPECT_EQ(model->facts.end_tokens, std::vector<TokenId>{2}) << name;
    EXPECT_EQ(model->facts.begin_token, 1) << name;
  }
}

TEST(DenseDecoderAssembly, ReadsTheOptionsOfTheFixtures) {
  const auto spec_of = [](const std::string& name) {
    const auto files = open_model("test/fixtures/models/" + name);
    return assemble_dense_decoder(files.value()).value().spec;
  };
  EXPECT_EQ(spec_of("llama-llama3").query_heads, 9U);
  EXPECT_EQ(spec_of("llama-longrope").rope.factor, 4.0);
  EXPECT_TRUE(spec_of("llama-yarn").mlp_bias);
  EXPECT_EQ(spec_of("mistral-window").windows, (std::vector<std::uint32_t>{5, 5}));
  EXPECT_EQ(spec_of("qwen2-window").windows, (std::vector<std::uint32_t>{0, 6}));
  EXPECT_TRUE(spec_of("qwen3-wide").query_key_norm);
  EXPECT_EQ(spec_of("llama-gguf-f16/model.gguf").rope.frequency_divisors.size(), 4U);
  EXPECT_TRUE(spec_of("llama-gguf-f16/model.gguf").output_bias);
}

}  // namespace
}  // namespace zllm::weight
