#include <array>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/dense_decoder_spec.h>

#include "testing/edited_json.h"
#include "testing/small_model.h"

namespace zllm::weight {
namespace {

using testing::bytes_of;
using testing::gguf_metadata;
using testing::gguf_tensors;
using testing::MetadataList;
using testing::names;
using testing::number_of;
using testing::TensorList;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

GgufValue text(std::string_view value) { return GgufValue(value); }

template <class T>
GgufValue array(std::vector<T> items) {
  return GgufArray{.items = std::move(items)};
}

// Owns what a spec is read from, since metadata refers to nothing but literals.
Result<model_spec::DenseDecoder> read(const MetadataList& metadata,
                                      const TensorList& tensors = gguf_tensors()) {
  return dense_decoder_from_metadata(metadata.metadata(), tensors.table());
}

model_spec::DenseDecoder spec_of(const MetadataList& metadata,
                                 const TensorList& tensors = gguf_tensors()) {
  const auto spec = read(metadata, tensors);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
  return spec.ok() ? spec.value() : model_spec::DenseDecoder();
}

// Values that no size may have.
std::vector<GgufValue> bad_integers() {
  return {number_of(0),
          std::int64_t{-1},
          std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::uint64_t>::max(),
          number_of(1ULL << 32),
          2.0,
          kNan,
          kInfinity,
          true,
          text("2"),
          array<std::uint64_t>({}),
          array<std::string_view>({"2"})};
}

std::vector<GgufValue> bad_numbers() {
  return {0.0,  -0.0,      -1.0,       5e-324, 1e300,     -1e300,
          kNan, kInfinity, -kInfinity, true,   text("1"), array<double>({1.0})};
}

TEST(DenseDecoderMetadata, ReadsEveryField) {
  model_spec::DenseDecoder expected;
  expected.architecture = "llama";
  expected.vocabulary = 40;
  expected.hidden = 32;
  expected.intermediate = 48;
  expected.layers = 2;
  expected.query_heads = 4;
  expected.kv_heads = 2;
  expected.head = 8;
  expected.norm_epsilon = 1e-5;
  expected.rope.rotated = 8;
  expected.rope.pairing = rope::Pairing::adjacent;
  expected.rope.max_positions = 256;
  expected.windows = {0, 0};
  expected.tied_embeddings = true;
  expected.max_positions = 256;
  EXPECT_EQ(spec_of(gguf_metadata()), expected);
}

TEST(DenseDecoderMetadata, TensorsTellOfBiasesAndHead) {
  TensorList tensors = gguf_tensors();
  tensors.set("blk.0.attn_k.bias", {16}).set("blk.0.attn_output.bias", {32});
  tensors.set("blk.0.ffn_up.bias", {48}).set("output.weight", {40, 32});
  const auto spec = spec_of(gguf_metadata(), tensors);
  EXPECT_TRUE(spec.qkv_bias && spec.output_bias && spec.mlp_bias);
  EXPECT_FALSE(spec.tied_embeddings);
}

TEST(DenseDecoderMetadata, RefusesBadIntegersByName) {
  for (const char *key :
       {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
        "llama.context_length", "llama.attention.head_count", "llama.attention.head_count_kv",
        "llama.vocab_size", "llama.attention.key_length", "llama.attention.value_length",
        "llama.rope.dimension_count", "llama.rope.scaling.original_context_length"}) {
    for (std::size_t i = 0; i < bad_integers().size(); ++i) {
      EXPECT_TRUE(names(read(gguf_metadata().set(key, bad_integers()[i])), {key}))
          << key << ", bad value " << i;
    }
  }
}

TEST(DenseDecoderMetadata, RefusesBadNumbersByName) {
  for (const char *key : {"llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base",
                          "llama.rope.scaling.attn_factor"}) {
    for (std::size_t i = 0; i < bad_numbers().size(); ++i) {
      EXPECT_TRUE(names(read(gguf_metadata().set(key, bad_numbers()[i])), {key}))
          << key << ", bad value " << i;
    }
  }
  for (std::size_t i = 0; i < bad_numbers().size(); ++i) {
    MetadataList metadata = gguf_metadata();
    metadata.set("llama.rope.scaling.type", text("linear"));
    metadata.set("llama.rope.scaling.factor", bad_numbers()[i]);
    EXPECT_TRUE(names(read(metadata), {"llama.rope.scaling.factor"})) << i;
  }
}

TEST(DenseDecoderMetadata, RefusesMissingKeys) {
  for (const char *key : {"general.architecture", "llama.block_count", "llama.embedding_length",
                          "llama.feed_forward_length", "llama.context_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    EXPECT_TRUE(names(read(gguf_metadata().remove(key)), {key, "is missing"}));
  }
}

TEST(DenseDecoderMetadata, AnOptionalKeyHasItsDefault) {
  EXPECT_EQ(spec_of(gguf_metadata().remove("llama.attention.head_count_kv")).kv_heads, 4U);
  EXPECT_EQ(spec_of(gguf_metadata().remove("llama.vocab_size")).vocabulary, 40U);
}

TEST(DenseDecoderMetadata, ArraysOfLayersMustBeUniform) {
  const char *key = "llama.attention.head_count_kv";
  EXPECT_EQ(spec_of(gguf_metadata().set(key, array<std::uint64_t>({1, 1}))).kv_heads, 1U);
  EXPECT_EQ(spec_of(gguf_metadata().set(key, array<std::int64_t>({1, 1}))).kv_heads, 1U);
  const auto mixed = read(gguf_metadata().set(key, array<std::uint64_t>({1, 2})));
  EXPECT_TRUE(names(mixed, {key, "differs between layers"}));
  EXPECT_EQ(mixed.error().code, Code::unsupported);
  EXPECT_TRUE(names(read(gguf_metadata().set(key, array<std::uint64_t>({1}))), {key, "2 layers"}));
  EXPECT_TRUE(names(read(gguf_metadata().set(key, array<std::uint64_t>({0, 0}))), {key}));
  EXPECT_TRUE(names(read(gguf_metadata().set(key, array<std::int64_t>({-1, -1}))), {key}));
}

// Tokens of one letter, at most 40.
std::vector<std::string_view> letters(std::size_t count) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789.,+-";
  std::vector<std::string_view> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(kLetters.substr(i, 1));
  }
  return tokens;
}

TEST(DenseDecoderMetadata, TokensAreUniqueAndTheirColumnsAsLong) {
  const auto with = [](std::vector<std::string_view> tokens, std::string_view key = "x",
                       GgufValue column = number_of(0)) {
    MetadataList list = gguf_metadata();
    return read(list.set("tokenizer.ggml.tokens", array(std::move(tokens))).set(key, column));
  };
  EXPECT_TRUE(with(letters(40)).ok());
  auto twice = letters(40);
  twice[7] = twice[3];
  EXPECT_TRUE(names(with(twice), {"tokenizer.ggml.tokens", "entry 7 'd' repeats entry 3"}));
  const std::string_view types = "tokenizer.ggml.token_type";
  EXPECT_TRUE(with(letters(40), types, array(std::vector<std::int64_t>(40, 1))).ok());
  EXPECT_TRUE(names(with(letters(40), types, array(std::vector<std::int64_t>(39, 1))),
                    {types, "40 tokens, found 39"}));
  EXPECT_TRUE(names(with(letters(40), "tokenizer.ggml.scores", 1.0),
                    {"tokenizer.ggml.scores", "found a float"}));
}

TEST(DenseDecoderMetadata, SizesOfTheVocabularyMustAgree) {
  const std::vector<std::string_view> tokens = letters(39);
  EXPECT_TRUE(names(read(gguf_metadata().set("tokenizer.ggml.tokens", array(tokens))),
                    {"llama.vocab_size", "40", "tokenizer.ggml.tokens", "39"}));
  MetadataList only_tokens = gguf_metadata().remove("llama.vocab_size");
  only_tokens.set("tokenizer.ggml.tokens", array(tokens));
  EXPECT_TRUE(names(read(only_tokens), {"token_embd.weight", "40", "tokenizer.ggml.tokens", "39"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.vocab_size", number_of(41))),
                    {"token_embd.weight", "llama.vocab_size", "41"}));
  for (const GgufValue& value : {number_of(7), array<std::uint64_t>({1, 2}), text("a")}) {
    EXPECT_TRUE(names(read(gguf_metadata().set("tokenizer.ggml.tokens", value)),
                      {"tokenizer.ggml.tokens", "array of strings"}));
  }
  const std::vector<std::string_view> none;
  only_tokens.set("tokenizer.ggml.tokens", array(none));
  EXPECT_FALSE(read(only_tokens).ok());
}

TEST(DenseDecoderMetadata, RefusesContradictionsOfHeads) {
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.attention.head_count_kv", number_of(3))),
                    {"llama.attention.head_count_kv", "does not divide"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.embedding_length", number_of(33))),
                    {"llama.embedding_length", "head_count"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.attention.value_length", number_of(16))),
                    {"llama.attention.value_length", "16", "8"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.rope.dimension_count", number_of(10))),
                    {"llama.rope.dimension_count", "10"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.rope.dimension_count", number_of(7))),
                    {"llama.rope.dimension_count", "7"}));
  EXPECT_EQ(spec_of(gguf_metadata().set("llama.rope.dimension_count", number_of(4))).rope.rotated,
            4U);
}

TEST(DenseDecoderMetadata, RefusesWhatChangesTheDataflow) {
  EXPECT_TRUE(names(read(gguf_metadata().set("general.architecture", text("mamba"))),
                    {"general.architecture", "mamba", "llama, qwen2, qwen3"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("general.type", text("adapter"))), {"adapter"}));
  const std::vector<std::pair<const char *, GgufValue>> changes = {
      {"llama.expert_count", number_of(8)},
      {"llama.attention.clamp_kqv", 8.0},
      {"llama.attention.max_alibi_bias", 8.0},
      {"llama.logit_scale", 8.0}};
  for (const auto& [key, value] : changes) {
    const auto changed = read(gguf_metadata().set(key, value));
    EXPECT_TRUE(names(changed, {key}));
    EXPECT_EQ(changed.error().code, Code::unsupported);
  }
  EXPECT_TRUE(read(gguf_metadata().set("llama.expert_count", number_of(0))).ok());
  for (const char *key : {"llama.rope.freq_base", "llama.attention.layer_norm_rms_epsilon"}) {
    EXPECT_TRUE(names(read(gguf_metadata().set(key, number_of(1))), {key, "not a float"}));
  }
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.attention.causal", false)), {"causal"}));
  EXPECT_TRUE(names(read(gguf_metadata().set("llama.attention.scale", 0.5)), {"attention.scale"}));
  EXPECT_TRUE(read(gguf_metadata().set("llama.attention.scale", 0.35355339)).ok());
}

TEST(DenseDecoderMetadata, ReadsWindows) {
  MetadataList metadata = gguf_metadata().set("llama.attention.sliding_window", number_of(5));
  using Windows = std::vector<std::uint32_t>;
  EXPECT_EQ(spec_of(metadata).windows, (Windows{5, 5}));
  const char *pattern = "llama.attention.sliding_window_pattern";
  EXPECT_EQ(spec_of(MetadataList(metadata).set(pattern, array<bool>({false, true}))).windows,
            (Windows{0, 5}));
  EXPECT_TRUE(names(read(MetadataList(metadata).set(pattern, array<bool>({true}))), {pattern}));
  EXPECT_TRUE(names(read(MetadataList(metadata).set(pattern, number_of(2))), {pattern}));
  EXPECT_TRUE(names(read(metadata.set("llama.attention.sliding_window", std::int64_t{-1})),
                    {"llama.attention.sliding_window"}));
}

TEST(DenseDecoderMetadata, ReadsScalingOfRope) {
  MetadataList linear = gguf_metadata().set("llama.rope.scaling.type", text("linear"));
  EXPECT_TRUE(names(read(linear), {"llama.rope.scaling.factor"}));
  linear.set("llama.rope.scaling.factor", 4.0);
  EXPECT_EQ(spec_of(linear).rope.factor, 4.0);
  EXPECT_EQ(spec_of(linear).rope.scaling, rope::Scaling::linear);
  MetadataList none = MetadataList(linear).set("llama.rope.scaling.type", text("none"));
  EXPECT_EQ(spec_of(none).rope.scaling, rope::Scaling::none);
  MetadataList unnamed = MetadataList(linear).remove("llama.rope.scaling.type");
  EXPECT_EQ(spec_of(unnamed).rope.scaling, rope::Scaling::linear);
  MetadataList legacy = gguf_metadata().set("llama.rope.scale_linear", 2.0);
  EXPECT_EQ(spec_of(legacy).rope.factor, 2.0);
  MetadataList yarn = MetadataList(linear).set("llama.rope.scaling.type", text("yarn"));
  yarn.set("llama.rope.scaling.original_context_length", number_of(64));
  EXPECT_EQ(spec_of(yarn).rope.original_positions, 64U);
  EXPECT_FALSE(spec_of(yarn).rope.attention_factor.has_value());
  yarn.set("llama.rope.scaling.attn_factor", 2.0);
  EXPECT_NEAR(*spec_of(yarn).rope.attention_factor, 2.0 * 1.138629436, 1e-9);
  EXPECT_TRUE(names(read(yarn.set("llama.rope.scaling.yarn_ext_factor", 0.5)),
                    {"llama.rope.scaling.yarn_ext_factor"}));
  EXPECT_TRUE(names(read(linear.set("llama.rope.scaling.type", text("ntk"))),
                    {"llama.rope.scaling.type", "'ntk'"}));
}

TEST(DenseDecoderMetadata, ReadsFrequencyTensors) {
  const std::array<float, 4> divisors = {1, 1, 2, 8};
  using enum encoding::Encoding;
  TensorList tensors = gguf_tensors().set("rope_freqs.weight", {4}, f32, bytes_of(divisors));
  EXPECT_EQ(spec_of(gguf_metadata(), tensors).rope.frequency_divisors,
            (std::vector<double>{1, 1, 2, 8}));
  for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(),
                          std::numeric_limits<float>::infinity()}) {
    const std::array<float, 4> wrong = {1, 1, bad, 8};
    tensors.set("rope_freqs.weight", {4}, f32, bytes_of(wrong));
    EXPECT_TRUE(names(read(gguf_metadata(), tensors), {"rope_freqs.weight"})) << bad;
  }
  const std::array<float, 3> three = {1, 1, 2};
  tensors.set("rope_freqs.weight", {3}, f32, bytes_of(three));
  EXPECT_TRUE(names(read(gguf_metadata(), tensors), {"rope_freqs.weight", "[4]"}));
}

TEST(DenseDecoderMetadata, ReadsLongrope) {
  const std::array<float, 4> factors = {1, 2, 3, 4};
  using enum encoding::Encoding;
  TensorList tensors = gguf_tensors();
  tensors.set("rope_factors_long.weight", {4}, f32, bytes_of(factors));
  EXPECT_TRUE(names(read(gguf_metadata(), tensors), {"rope_factors_short.weight", "missing"}));
  tensors.set("rope_factors_short.weight", {4}, f32, bytes_of(factors));
  const auto spec = spec_of(gguf_metadata(), tensors);
  EXPECT_EQ(spec.rope.scaling, rope::Scaling::longrope);
  EXPECT_EQ(spec.rope.attention_factor, 1.0);
  EXPECT_EQ(spec.rope.original_positions, 256U);
  const MetadataList contradicting = gguf_metadata().set("llama.rope.scaling.type", text("none"));
  EXPECT_TRUE(names(read(contradicting, tensors), {"llama.rope.scaling.type", "longrope"}));
}

}  // namespace
}  // namespace zllm::weight
