#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/rope/reference.h>
#include <zllm/weight/assembly/mla_moe_spec.h>

#include "testing/edited_json.h"
#include "testing/published_configs.h"

namespace zllm::weight {
namespace {

using model_spec::IndexerKind;
using model_spec::MlaMoe;
using testing::bad_integers;
using testing::bad_numbers;
using testing::deepseek_v3;
using testing::deepseek_v32;
using testing::glm_5;
using testing::glm_52;
using testing::kimi_k2;
using testing::names;
using testing::parse;
using testing::with;
using testing::without;

Result<MlaMoe> read(const Json& config) {
  std::vector<std::string> warnings;
  auto spec = mla_moe_from_config(config, warnings);
  EXPECT_TRUE(!spec.ok() || warnings.empty()) << warnings.front();
  return spec;
}

MlaMoe spec_of(const Json& config) {
  const auto spec = read(config);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
  return spec.ok() ? spec.value() : MlaMoe();
}

std::size_t full_layers(const MlaMoe& spec) {
  return static_cast<std::size_t>(std::ranges::count(spec.indexers, IndexerKind::full));
}

TEST(MlaMoeConfig, ReadsDeepseekV3) {
  const MlaMoe spec = spec_of(deepseek_v3());
  EXPECT_EQ(spec.architecture, "deepseek_v3");
  EXPECT_EQ(spec.vocabulary, 129280U);
  EXPECT_EQ(spec.hidden, 7168U);
  EXPECT_EQ(spec.layers, 61U);
  EXPECT_EQ(spec.norm_epsilon, 1e-6);
  EXPECT_EQ(spec.max_positions, 163840U);
  EXPECT_FALSE(spec.tied_embeddings);
  model_spec::LatentAttention attention;
  attention.mla = {.heads = 128, .latent = 512, .nope = 128, .rope = 64, .value = 128};
  attention.mla.scale = spec.attention.mla.scale;
  attention.query_rank = 1536;
  attention.latent_norm_epsilon = 1e-6;
  EXPECT_EQ(spec.attention, attention);
  EXPECT_EQ(spec.indexers, std::vector<IndexerKind>(61, IndexerKind::none));
  const model_spec::Mixture& mixture = spec.mixture;
  EXPECT_EQ(std::ranges::count(mixture.is_sparse, true), 58);
  EXPECT_FALSE(mixture.is_sparse[2]);
  EXPECT_EQ(mixture.dense_intermediate, 18432U);
  EXPECT_EQ(mixture.expert_intermediate, 2048U);
  EXPECT_EQ(mixture.shared_intermediate, 2048U);
  const moe::RouterSpec router = {.experts = 256,
                                  .top_k = 8,
                                  .groups = 8,
                                  .kept_groups = 4,
                                  .scoring = moe::Scoring::sigmoid,
                                  .has_selection_bias = true,
                                  .normalise = true,
                                  .scaling = 2.5f};
  EXPECT_EQ(mixture.router, router);
}

TEST(MlaMoeConfig, YarnOfDeepseekScalesScoresAndNotRotations) {
  const MlaMoe spec = spec_of(deepseek_v3());
  EXPECT_EQ(spec.rope.scaling, rope::Scaling::yarn);
  EXPECT_EQ(spec.rope.pairing, rope::Pairing::adjacent);
  EXPECT_EQ(spec.rope.rotated, 64U);
  EXPECT_EQ(spec.rope.factor, 40.0);
  EXPECT_EQ(spec.rope.original_positions, 4096U);
  EXPECT_EQ(rope::make_table(spec.rope, 1).value().amplitude, 1.0);
  const double amplitude = 1.0 + 0.1 * std::log(40.0);
  EXPECT_FLOAT_EQ(spec.attention.mla.scale,
                  static_cast<float>(amplitude * amplitude / std::sqrt(192.0)));
}

TEST(MlaMoeConfig, ScoresAreScaledForEveryTypeThatStatesIt) {
  const auto scale_of = [](std::string_view rope) {
    return spec_of(with(deepseek_v3(), "rope_scaling", rope)).attention.mla.scale;
  };
  const float plain = static_cast<float>(1.0 / std::sqrt(192.0));
  EXPECT_FLOAT_EQ(scale_of("null"), plain);
  EXPECT_FLOAT_EQ(scale_of(R"({"type": "yarn", "factor": 40})"), plain);
  EXPECT_FLOAT_EQ(scale_of(R"({"type": "yarn", "factor": 40, "mscale_all_dim": 0})"), plain);
  EXPECT_FLOAT_EQ(scale_of(R"({"type": "yarn", "factor": 1, "mscale_all_dim": 1})"), plain);
  const double half = 1.0 + 0.05 * std::log(40.0);
  EXPECT_FLOAT_EQ(
      scale_of(R"({"type": "yarn", "factor": 40, "mscale": 0.5, "mscale_all_dim": 0.5})"),
      static_cast<float>(half * half) * plain);
}

TEST(MlaMoeConfig, ReadsKimiK2) {
  const MlaMoe spec = spec_of(kimi_k2());
  EXPECT_EQ(spec.architecture, "kimi_k2");
  EXPECT_EQ(spec.attention.mla.heads, 64U);
  EXPECT_EQ(spec.rope.theta, 50000.0);
  EXPECT_EQ(spec.rope.beta_fast, 1.0);
  EXPECT_EQ(spec.mixture.router.experts, 384U);
  EXPECT_EQ(spec.mixture.router.groups, 1U);
  EXPECT_EQ(spec.mixture.router.scaling, 2.827f);
  EXPECT_FALSE(spec.mixture.is_sparse[0]);
  EXPECT_TRUE(spec.mixture.is_sparse[1]);
}

TEST(MlaMoeConfig, ReadsDeepseekV32) {
  const MlaMoe spec = spec_of(deepseek_v32());
  EXPECT_EQ(full_layers(spec), 61U);
  EXPECT_EQ(spec.indexer.heads, 64U);
  EXPECT_EQ(spec.indexer.width, 128U);
  EXPECT_EQ(spec.indexer.top_k, 2048U);
  EXPECT_FLOAT_EQ(spec.indexer.score_scale, static_cast<float>(1.0 / std::sqrt(128.0)));
  EXPECT_FLOAT_EQ(spec.indexer.weight_scale, 0.125f);
  EXPECT_EQ(spec.rope.pairing, rope::Pairing::adjacent);
  EXPECT_EQ(spec.indexer_pairing, rope::Pairing::half);
  EXPECT_EQ(spec.indexer_norm_epsilon, 1e-6);
}

TEST(MlaMoeConfig, ReadsGlm5) {
  const MlaMoe spec = spec_of(glm_5());
  EXPECT_EQ(full_layers(spec), 78U);
  EXPECT_EQ(spec.norm_epsilon, 1e-5);
  EXPECT_EQ(spec.attention.latent_norm_epsilon, 1e-6);
  EXPECT_EQ(spec.attention.mla.value, 256U);
  EXPECT_EQ(spec.attention.mla.scale, 0.0625f);
  EXPECT_EQ(spec.rope.scaling, rope::Scaling::none);
  EXPECT_EQ(spec.rope.theta, 1e6);
  EXPECT_EQ(spec.rope.pairing, rope::Pairing::adjacent);
  EXPECT_EQ(spec.indexer_pairing, rope::Pairing::adjacent);
}

TEST(MlaMoeConfig, ReadsWhoSharesASelectionInGlm52) {
  const MlaMoe spec = spec_of(glm_52());
  EXPECT_EQ(full_layers(spec), 21U);
  EXPECT_EQ(spec.max_positions, 1048576U);
  for (std::size_t layer = 0; layer < spec.layers; ++layer) {
    EXPECT_EQ(spec.indexers[layer] == IndexerKind::full, testing::is_full_in_glm_52(layer));
  }
  // The schedule, and a pattern in either form, say the same.
  EXPECT_EQ(spec_of(without(glm_52(), "indexer_types")), spec);
  std::string letters;
  for (std::size_t layer = 0; layer < 78; ++layer) {
    letters += testing::is_full_in_glm_52(layer) ? 'F' : 'S';
  }
  const Json bare = without(without(glm_52(), "indexer_types"), "index_topk_freq");
  EXPECT_EQ(spec_of(with(bare, "index_topk_pattern", Json(letters))), spec);
  EXPECT_EQ(spec_of(with(bare, "index_topk_pattern", *glm_52().find("indexer_types"))), spec);
}

TEST(MlaMoeConfig, BothSpellingsOfRopeSayTheSame) {
  Json current = without(without(deepseek_v3(), "rope_scaling"), "rope_theta");
  current = with(current, "rope_parameters",
                 R"({"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0,
                     "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
                     "rope_theta": 10000, "rope_type": "yarn"})");
  EXPECT_EQ(spec_of(current), spec_of(deepseek_v3()));
}

TEST(MlaMoeConfig, MissingKeysTakeTheDefaultsOfTransformers) {
  const auto bare = [](Json config) {
    for (const char *key :
         {"rms_norm_eps", "max_position_embeddings", "hidden_act", "tie_word_embeddings",
          "attention_bias", "norm_topk_prob", "scoring_func", "topk_method", "n_shared_experts",
          "routed_scaling_factor", "first_k_dense_replace", "moe_layer_freq", "num_key_value_heads",
          "rope_theta", "rope_scaling", "rope_parameters", "rope_interleave",
          "indexer_rope_interleave", "num_nextn_predict_layers"}) {
      config = without(config, key);
    }
    return config;
  };
  const MlaMoe v3 = spec_of(bare(deepseek_v3()));
  EXPECT_EQ(v3.norm_epsilon, 1e-6);
  EXPECT_EQ(v3.max_positions, 4096U);
  EXPECT_EQ(v3.rope.theta, 10000.0);
  EXPECT_EQ(v3.rope.pairing, rope::Pairing::adjacent);
  EXPECT_EQ(v3.mixture, spec_of(deepseek_v3()).mixture);
  EXPECT_EQ(spec_of(bare(deepseek_v32())).max_positions, 163840U);
  const MlaMoe glm = spec_of(bare(glm_5()));
  EXPECT_EQ(glm.norm_epsilon, 1e-5);
  EXPECT_EQ(glm.max_positions, 202752U);
  EXPECT_EQ(glm.indexer_pairing, rope::Pairing::adjacent);
  EXPECT_EQ(glm.mixture, spec_of(glm_5()).mixture);
}

TEST(MlaMoeConfig, ReadsOptions) {
  EXPECT_EQ(spec_of(with(deepseek_v3(), "q_lora_rank", "null")).attention.query_rank, 0U);
  EXPECT_EQ(spec_of(with(deepseek_v3(), "rope_interleave", "false")).rope.pairing,
            rope::Pairing::half);
  EXPECT_TRUE(spec_of(with(deepseek_v3(), "attention_bias", "true")).attention.bias);
  EXPECT_TRUE(spec_of(with(glm_5(), "tie_word_embeddings", "true")).tied_embeddings);
  EXPECT_EQ(spec_of(without(glm_5(), "model_type")).architecture, "glm_moe_dsa");
  EXPECT_EQ(spec_of(with(glm_5(), "rms_norm_eps", "0.01")).attention.latent_norm_epsilon, 1e-6);
  EXPECT_EQ(spec_of(with(without(glm_5(), "n_routed_experts"), "num_experts", "256")),
            spec_of(glm_5()));
}

TEST(MlaMoeConfig, RefusesQuantisedCheckpointsByKey) {
  EXPECT_TRUE(names(read(parse(testing::kDeepseekV3)),
                    {"config.json", "quantization_config.quant_method", "'fp8'"}));
  EXPECT_TRUE(names(read(parse(testing::kKimiK2)), {"quantization_config.quant_method"}));
}

struct Change {
  std::string_view key;
  std::string_view value;
  std::vector<std::string_view> named;  // beside the key
};

void expect_refused(const Json& config, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    const auto result = read(with(config, change.key, change.value));
    EXPECT_TRUE(names(result, {"config.json", change.key})) << change.key << change.value;
    EXPECT_TRUE(names(result, change.named)) << change.key << change.value;
  }
}

TEST(MlaMoeConfig, RefusesContradictions) {
  expect_refused(deepseek_v3(),
                 {
                     {"num_key_value_heads", "1", {"num_attention_heads 128"}},
                     {"qk_head_dim", "128", {"qk_nope_head_dim", "64"}},
                     {"num_experts", "8", {"n_routed_experts"}},
                     {"rope_parameters", R"({"rope_type": "default"})", {"rope_scaling"}},
                     {"n_group", "7", {"256 experts"}},
                     {"num_experts_per_tok", "257", {}},
                 });
  expect_refused(glm_52(),
                 {
                     {"first_k_dense_replace", "4", {"mlp_layer_types"}},
                     {"mlp_layer_types", R"(["dense"])", {"78"}},
                     {"index_topk_freq", "3", {"indexer_types"}},
                     {"index_topk_pattern", Json(std::string(78, 'F')).dump(), {"indexer_types"}},
                     {"indexer_types", R"(["full"])", {"78 layers, found 1"}},
                     {"index_head_dim", "32", {"64 lanes"}},
                     {"q_lora_rank", "null", {}},
                     {"layer_types", "[]", {"78 layers, found 0"}},
                     {"topk_group", "2", {"keeps 2 of 1 groups"}},
                 });
}

TEST(MlaMoeConfig, RefusesAFirstLayerThatShares) {
  const Json bare = without(without(glm_52(), "indexer_types"), "index_topk_freq");
  const Json pattern(std::string("S") + std::string(77, 'F'));
  EXPECT_TRUE(names(read(with(bare, "index_topk_pattern", pattern)),
                    {"index_topk_pattern", "first layer"}));
  const Json types = testing::strings(78, [](std::size_t i) { return i == 0 ? "shared" : "full"; });
  EXPECT_TRUE(names(read(with(bare, "indexer_types", types)), {"indexer_types", "first layer"}));
  const Json late = with(with(bare, "index_topk_freq", "4"), "index_skip_topk_offset", "0");
  EXPECT_TRUE(names(read(late), {"index_skip_topk_offset", "first layer"}));
}

TEST(MlaMoeConfig, RefusesUnknownNames) {
  expect_refused(deepseek_v3(), {
                                    {"model_type", R"("deepseek_v9")", {"'deepseek_v9'"}},
                                    {"architectures", R"(["Other"])", {"'Other'"}},
                                    {"hidden_act", R"("gelu")", {"'gelu'"}},
                                    {"scoring_func", R"("tanh")", {"'tanh'"}},
                                    {"topk_method", R"("group_limited_greedy")", {}},
                                    {"rope_scaling", R"({"type": "ntk"})", {"'ntk'"}},
                                    {"layer_types", R"(["sliding_attention"])", {}},
                                    {"mlp_bias", "true", {}},
                                    {"partial_rotary_factor", "0.5", {}},
                                });
  const Json types = testing::strings(78, [](std::size_t) { return "half"; });
  expect_refused(without(glm_52(), "index_topk_freq"),
                 {{"indexer_types", types.dump(), {"'half'"}},
                  {"mlp_layer_types", types.dump(), {"'half'"}},
                  {"index_topk_pattern", Json(std::string(78, 'X')).dump(), {"'X'"}}});
}

TEST(MlaMoeConfig, RefusesPairingsThatTheModelTypeDoesNotHave) {
  expect_refused(glm_5(),
                 {{"rope_interleave", "false", {}}, {"indexer_rope_interleave", "false", {}}});
  expect_refused(deepseek_v32(),
                 {{"indexer_rope_interleave", "true", {}},
                  {"index_topk_freq", "2", {}},
                  {"index_topk_pattern", Json("F" + std::string(60, 'S')).dump(), {}}});
}

TEST(MlaMoeConfig, ChecksEveryNumber) {
  for (const char *key :
       {"hidden_size", "intermediate_size", "moe_intermediate_size", "num_hidden_layers",
        "num_attention_heads", "vocab_size", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim", "index_head_dim", "index_n_heads", "index_topk",
        "n_routed_experts", "num_experts_per_tok", "max_position_embeddings"}) {
    for (const Json& value : bad_integers()) {
      EXPECT_TRUE(names(read(with(deepseek_v32(), key, value)), {"config.json", key}))
          << key << value.dump();
    }
  }
  for (const char *key : {"rms_norm_eps", "routed_scaling_factor"}) {
    for (const Json& value : bad_numbers()) {
      EXPECT_TRUE(names(read(with(glm_5(), key, value)), {"config.json", key}))
          << key << value.dump();
    }
  }
}

TEST(MlaMoeConfig, NamesMissingKeys) {
  for (const char *key :
       {"hidden_size", "intermediate_size", "moe_intermediate_size", "num_hidden_layers",
        "num_attention_heads", "vocab_size", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim",
        "qk_rope_head_dim", "v_head_dim", "index_head_dim", "index_n_heads", "index_topk",
        "n_routed_experts", "num_experts_per_tok", "n_group", "topk_group"}) {
    EXPECT_TRUE(names(read(without(deepseek_v32(), key)), {"config.json", key, "is missing"}))
        << key;
  }
}

}  // namespace
}  // namespace zllm::weight
