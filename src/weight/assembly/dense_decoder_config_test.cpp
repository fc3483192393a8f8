#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/dense_decoder_spec.h>

#include "testing/edited_json.h"

namespace zllm::weight {
namespace {

using testing::bad_integers;
using testing::bad_numbers;
using testing::names;
using testing::parse;
using testing::with;
using testing::without;

Json config_of(std::string_view model_type, std::string_view architecture) {
  Json config = parse(R"({
    "hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 6,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 320, "rms_norm_eps": 1e-6,
    "max_position_embeddings": 256, "hidden_act": "silu", "attention_bias": false,
    "mlp_bias": false, "tie_word_embeddings": true, "rope_theta": 50000.0,
    "use_sliding_window": false, "sliding_window": null, "max_window_layers": 1})");
  config = with(config, "model_type", Json(std::string(model_type)));
  return with(config, "architectures", Json(Json::Array{Json(std::string(architecture))}));
}

Json llama() { return config_of("llama", "LlamaForCausalLM"); }
Json mistral() { return config_of("mistral", "MistralForCausalLM"); }
Json qwen2() { return config_of("qwen2", "Qwen2ForCausalLM"); }
Json qwen3() { return config_of("qwen3", "Qwen3ForCausalLM"); }

Result<model_spec::DenseDecoder> read(const Json& config) {
  std::vector<std::string> warnings;
  return dense_decoder_from_config(config, warnings);
}

model_spec::DenseDecoder spec_of(const Json& config) {
  const auto spec = read(config);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
  return spec.ok() ? spec.value() : model_spec::DenseDecoder();
}

using Windows = std::vector<std::uint32_t>;

TEST(DenseDecoderConfig, ReadsEveryField) {
  model_spec::DenseDecoder expected;
  expected.architecture = "llama";
  expected.vocabulary = 320;
  expected.hidden = 96;
  expected.intermediate = 160;
  expected.layers = 3;
  expected.query_heads = 6;
  expected.kv_heads = 2;
  expected.head = 16;
  expected.norm_epsilon = 1e-6;
  expected.rope.rotated = 16;
  expected.rope.theta = 50000.0;
  expected.rope.max_positions = 256;
  expected.windows = {0, 0, 0};
  expected.tied_embeddings = true;
  expected.max_positions = 256;
  EXPECT_EQ(spec_of(llama()), expected);
}

TEST(DenseDecoderConfig, MissingKeysTakeTheDefaultsOfTransformers) {
  Json config = llama();
  for (const char *key : {"num_key_value_heads", "head_dim", "rms_norm_eps", "rope_theta",
                          "max_position_embeddings", "hidden_act", "tie_word_embeddings"}) {
    config = without(config, key);
  }
  const auto spec = spec_of(config);
  EXPECT_EQ(spec.kv_heads, 6U);
  EXPECT_EQ(spec.head, 16U);
  EXPECT_EQ(spec.norm_epsilon, 1e-6);
  EXPECT_EQ(spec.rope.theta, 10000.0);
  EXPECT_EQ(spec.max_positions, 2048U);
  EXPECT_FALSE(spec.tied_embeddings);
}

TEST(DenseDecoderConfig, DefaultsDifferByFamily) {
  const Json no_positions = without(mistral(), "max_position_embeddings");
  EXPECT_EQ(spec_of(no_positions).max_positions, 131072U);
  EXPECT_EQ(spec_of(without(qwen3(), "head_dim")).head, 128U);
  EXPECT_EQ(spec_of(without(qwen2(), "head_dim")).head, 16U);
  const Json null_heads = with(mistral(), "num_key_value_heads", "null");
  EXPECT_EQ(spec_of(null_heads).kv_heads, 6U);
  // 8 key heads by default cannot serve 6 query heads.
  EXPECT_TRUE(names(read(without(mistral(), "num_key_value_heads")), {"num_key_value_heads"}));
}

TEST(DenseDecoderConfig, RefusesBadIntegersByName) {
  for (const char *key :
       {"hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "head_dim", "vocab_size", "max_position_embeddings"}) {
    for (const Json& value : bad_integers()) {
      EXPECT_TRUE(names(read(with(llama(), key, value)), {"config.json: ", key}))
          << key << " = " << value.dump();
    }
  }
}

TEST(DenseDecoderConfig, RefusesBadNumbersByName) {
  for (const char *key : {"rms_norm_eps", "rope_theta"}) {
    for (const Json& value : bad_numbers()) {
      EXPECT_TRUE(names(read(with(llama(), key, value)), {"config.json: ", key}))
          << key << " = " << value.dump();
    }
  }
}

TEST(DenseDecoderConfig, SaysWhatIsAllowedAndWhatWasFound) {
  EXPECT_EQ(read(with(llama(), "hidden_size", "-3")).error().message,
            "config.json: hidden_size must be an integer from 1 to 1048576, found -3");
}

TEST(DenseDecoderConfig, RefusesMissingSizes) {
  for (const char *key : {"hidden_size", "intermediate_size", "num_hidden_layers",
                          "num_attention_heads", "vocab_size"}) {
    EXPECT_TRUE(names(read(without(llama(), key)), {key, "is missing"}));
    EXPECT_TRUE(names(read(with(llama(), key, "null")), {key, "is missing"}));
  }
}

TEST(DenseDecoderConfig, RefusesWrongTypesOfFlagsAndNames) {
  for (const char *key : {"attention_bias", "mlp_bias", "tie_word_embeddings"}) {
    EXPECT_TRUE(names(read(with(llama(), key, "1")), {key, "true or false"}));
  }
  EXPECT_TRUE(names(read(with(llama(), "hidden_act", "3")), {"hidden_act", "string"}));
  EXPECT_TRUE(names(read(with(llama(), "model_type", "[]")), {"model_type", "string"}));
  EXPECT_TRUE(names(read(with(llama(), "architectures", "{}")), {"architectures", "array"}));
  EXPECT_TRUE(names(read(with(llama(), "architectures", "[7]")), {"architectures", "array"}));
  EXPECT_TRUE(names(read(Json(Json::Array{})), {"config.json", "object"}));
}

TEST(DenseDecoderConfig, RefusesContradictions) {
  EXPECT_TRUE(names(read(with(llama(), "num_key_value_heads", "4")),
                    {"num_key_value_heads", "does not divide"}));
  const Json derived = with(without(llama(), "head_dim"), "hidden_size", "100");
  EXPECT_TRUE(names(read(derived), {"hidden_size", "num_attention_heads"}));
  EXPECT_TRUE(names(read(with(llama(), "head_dim", "15")), {"rope", "15"}));
}

TEST(DenseDecoderConfig, RefusesOtherModelsByName) {
  const auto other = read(with(llama(), "model_type", "\"gpt_neox\""));
  EXPECT_TRUE(names(other, {"model_type", "gpt_neox", "llama, mistral, qwen2 and qwen3"}));
  EXPECT_EQ(other.error().code, Code::unsupported);
  const Json classifier = with(llama(), "architectures", R"(["LlamaForSequenceClassification"])");
  EXPECT_TRUE(names(read(classifier), {"architectures", "LlamaForSequenceClassification"}));
  EXPECT_TRUE(names(read(with(llama(), "hidden_act", "\"gelu\"")), {"hidden_act", "gelu"}));
  const Json quantised =
      with(llama(), "quantization_config", R"({"quant_method": "gptq", "bits": 4})");
  EXPECT_TRUE(names(read(quantised), {"quantization_config", "gptq"}));
  EXPECT_EQ(read(quantised).error().code, Code::unsupported);
  Json nameless = without(without(llama(), "model_type"), "architectures");
  EXPECT_TRUE(names(read(nameless), {"model_type", "is missing"}));
}

TEST(DenseDecoderConfig, FindsTheFamilyByArchitecture) {
  EXPECT_TRUE(spec_of(without(qwen3(), "model_type")).query_key_norm);
  EXPECT_EQ(spec_of(without(llama(), "architectures")).architecture, "llama");
}

TEST(DenseDecoderConfig, BiasesFollowTheFamily) {
  const auto biased = spec_of(with(with(llama(), "attention_bias", "true"), "mlp_bias", "true"));
  EXPECT_TRUE(biased.qkv_bias && biased.output_bias && biased.mlp_bias);
  const auto qwen2_spec = spec_of(qwen2());
  EXPECT_TRUE(qwen2_spec.qkv_bias);
  EXPECT_FALSE(qwen2_spec.output_bias || qwen2_spec.mlp_bias || qwen2_spec.query_key_norm);
  const auto qwen3_spec = spec_of(with(qwen3(), "attention_bias", "true"));
  EXPECT_TRUE(qwen3_spec.qkv_bias && qwen3_spec.output_bias && qwen3_spec.query_key_norm);
  EXPECT_FALSE(spec_of(qwen3()).qkv_bias);
  EXPECT_FALSE(spec_of(with(mistral(), "attention_bias", "true")).qkv_bias);
}

TEST(DenseDecoderConfig, MistralSlidesInEveryLayer) {
  EXPECT_EQ(spec_of(with(mistral(), "sliding_window", "5")).windows, (Windows{5, 5, 5}));
  EXPECT_EQ(spec_of(mistral()).windows, (Windows{0, 0, 0}));
  EXPECT_EQ(spec_of(without(mistral(), "sliding_window")).windows, (Windows{4096, 4096, 4096}));
  EXPECT_EQ(spec_of(with(llama(), "sliding_window", "5")).windows, (Windows{0, 0, 0}));
  for (const Json& value : bad_integers()) {
    EXPECT_TRUE(names(read(with(mistral(), "sliding_window", value)), {"sliding_window"}))
        << value.dump();
  }
}

TEST(DenseDecoderConfig, QwenSlidesByLayer) {
  const Json idle = with(qwen2(), "sliding_window", "7");
  EXPECT_EQ(spec_of(idle).windows, (Windows{0, 0, 0}));
  const Json sliding = with(idle, "use_sliding_window", "true");
  EXPECT_EQ(spec_of(sliding).windows, (Windows{0, 7, 7}));
  EXPECT_EQ(spec_of(with(sliding, "max_window_layers", "0")).windows, (Windows{7, 7, 7}));
  EXPECT_EQ(spec_of(with(sliding, "sliding_window", "null")).windows, (Windows{0, 0, 0}));
  const Json typed =
      with(sliding, "layer_types", R"(["sliding_attention", "full_attention", "full_attention"])");
  EXPECT_EQ(spec_of(typed).windows, (Windows{7, 0, 0}));
  EXPECT_TRUE(names(read(with(sliding, "max_window_layers", "-1")), {"max_window_layers"}));
}

TEST(DenseDecoderConfig, RefusesLayerTypesThatContradict) {
  const Json slides = parse(R"(["sliding_attention", "full_attention", "full_attention"])");
  EXPECT_TRUE(names(read(with(qwen3(), "layer_types", slides)), {"layer_types", "no sliding"}));
  EXPECT_TRUE(names(read(with(llama(), "layer_types", slides)), {"layer_types"}));
  EXPECT_TRUE(names(read(with(qwen3(), "layer_types", R"(["full_attention"])")),
                    {"layer_types", "3 layers"}));
  EXPECT_TRUE(
      names(read(with(qwen3(), "layer_types", R"(["a", "b", "c"])")), {"layer_types", "'a'"}));
  const Json mixed = with(with(mistral(), "sliding_window", "5"), "layer_types", slides);
  EXPECT_TRUE(names(read(mixed), {"layer_types", "mistral"}));
}

}  // namespace
}  // namespace zllm::weight
