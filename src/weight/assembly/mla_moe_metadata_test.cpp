#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/rope/reference.h>
#include <zllm/weight/assembly/mla_moe_spec.h>

#include "testing/edited_json.h"
#include "testing/small_latent_model.h"

namespace zllm::weight {
namespace {

using model_spec::IndexerKind;
using model_spec::MlaMoe;
using testing::gguf_deepseek2_metadata;
using testing::gguf_deepseek2_tensors;
using testing::gguf_latent_metadata;
using testing::gguf_latent_tensors;
using testing::MetadataList;
using testing::names;
using testing::number_of;
using testing::TensorList;

constexpr IndexerKind kNone = IndexerKind::none;
constexpr IndexerKind kFull = IndexerKind::full;
constexpr IndexerKind kShared = IndexerKind::shared;
using Kinds = std::vector<IndexerKind>;

GgufValue text(std::string_view value) { return GgufValue(value); }
GgufValue flags(std::vector<bool> items) { return GgufArray{.items = std::move(items)}; }

Result<MlaMoe> read(const MetadataList& metadata,
                    const TensorList& tensors = gguf_latent_tensors()) {
  return mla_moe_from_metadata(metadata.metadata(), tensors.table());
}

MlaMoe spec_of(const MetadataList& metadata, const TensorList& tensors = gguf_latent_tensors()) {
  const auto spec = read(metadata, tensors);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().message);
  return spec.ok() ? spec.value() : MlaMoe();
}

MlaMoe deepseek2_of(const MetadataList& metadata) {
  return spec_of(metadata, gguf_deepseek2_tensors());
}

TEST(MlaMoeMetadata, ReadsEveryField) {
  MlaMoe expected;
  expected.architecture = "glm-dsa";
  expected.vocabulary = 40;
  expected.hidden = 32;
  expected.layers = 4;
  expected.norm_epsilon = 1e-5;
  expected.attention.mla = {.heads = 2,
                            .latent = 8,
                            .nope = 6,
                            .rope = 4,
                            .value = 5,
                            .scale = static_cast<float>(1.0 / std::sqrt(10.0))};
  expected.attention.query_rank = 12;
  expected.attention.latent_norm_epsilon = 1e-6;
  expected.rope.rotated = 4;
  expected.rope.pairing = rope::Pairing::adjacent;
  expected.rope.theta = 1e6;
  expected.rope.max_positions = 256;
  expected.indexers = {kFull, kShared, kFull, kShared};
  expected.indexer = {.heads = 2,
                      .width = 8,
                      .top_k = 4,
                      .score_scale = static_cast<float>(1.0 / std::sqrt(8.0)),
                      .weight_scale = static_cast<float>(1.0 / std::sqrt(2.0))};
  expected.indexer_pairing = rope::Pairing::adjacent;
  expected.mixture.is_sparse = {false, true, true, true};
  expected.mixture.dense_intermediate = 48;
  expected.mixture.expert_intermediate = 16;
  expected.mixture.shared_intermediate = 16;
  expected.mixture.router = {.experts = 4,
                             .top_k = 2,
                             .groups = 1,
                             .kept_groups = 1,
                             .scoring = moe::Scoring::sigmoid,
                             .has_selection_bias = true,
                             .normalise = true,
                             .scaling = 2.5f};
  expected.max_positions = 256;
  EXPECT_EQ(spec_of(gguf_latent_metadata()), expected);
}

TEST(MlaMoeMetadata, TellsWhoSharesASelection) {
  const auto kinds = [](const MetadataList& metadata) { return spec_of(metadata).indexers; };
  EXPECT_EQ(deepseek2_of(gguf_deepseek2_metadata()).indexers, Kinds(4, kNone));
  MetadataList metadata = gguf_latent_metadata();
  // The layer that drafts may have an entry, too.
  EXPECT_EQ(kinds(metadata.set("glm-dsa.attention.indexer.types",
                               flags({true, true, false, false, true}))),
            (Kinds{kFull, kFull, kShared, kShared}));
  metadata.remove("glm-dsa.attention.indexer.types");
  EXPECT_EQ(kinds(metadata), Kinds(4, kFull));
  metadata.set("glm-dsa.context_length", number_of(1048576));
  EXPECT_EQ(kinds(metadata), (Kinds{kFull, kFull, kFull, kShared}));
  for (const auto& [types, part] :
       {std::pair(flags({false, true, true, true}), "first layer"),
        std::pair(flags({true}), "4 layers, found 1"), std::pair(number_of(1), "array")}) {
    EXPECT_TRUE(names(read(metadata.set("glm-dsa.attention.indexer.types", types)),
                      {"glm-dsa.attention.indexer.types", part}));
  }
}

TEST(MlaMoeMetadata, YarnOfDeepseekScalesScoresAndNotRotations) {
  MetadataList metadata = gguf_deepseek2_metadata();
  metadata.set("deepseek2.rope.scaling.type", text("yarn"));
  metadata.set("deepseek2.rope.scaling.factor", 40.0);
  metadata.set("deepseek2.rope.scaling.original_context_length", number_of(64));
  const double plain = 1.0 / std::sqrt(10.0);
  const MlaMoe without = deepseek2_of(metadata);
  EXPECT_FLOAT_EQ(without.attention.mla.scale, static_cast<float>(plain));
  EXPECT_NEAR(rope::make_table(without.rope, 1).value().amplitude, 1.0 + 0.1 * std::log(40.0),
              1e-12);
  // The file stores a tenth of mscale_all_dim.
  metadata.set("deepseek2.rope.scaling.yarn_log_multiplier", 0.1);
  const MlaMoe with = deepseek2_of(metadata);
  const double amplitude = 1.0 + 0.1 * std::log(40.0);
  EXPECT_FLOAT_EQ(with.attention.mla.scale, static_cast<float>(plain * amplitude * amplitude));
  EXPECT_EQ(rope::make_table(with.rope, 1).value().amplitude, 1.0);
  metadata.set("deepseek2.rope.scaling.yarn_log_multiplier", 0.0707);
  const double lite = 1.0 + 0.0707 * std::log(40.0);
  EXPECT_FLOAT_EQ(deepseek2_of(metadata).attention.mla.scale,
                  static_cast<float>(plain * lite * lite));
  metadata.set("deepseek2.rope.scaling.attn_factor", 2.0);
  EXPECT_TRUE(names(read(metadata, gguf_deepseek2_tensors()), {"rope.scaling.attn_factor"}));
}

TEST(MlaMoeMetadata, StatedScalesMustBeThoseOfTheModel) {
  MetadataList metadata = gguf_latent_metadata();
  metadata.set("glm-dsa.attention.scale", static_cast<double>(1.0f / std::sqrt(10.0f)));
  EXPECT_TRUE(read(metadata).ok());
  EXPECT_TRUE(names(read(metadata.set("glm-dsa.attention.scale", 0.5)), {"attention.scale"}));
}

TEST(MlaMoeMetadata, ScoringThatIsNotStatedFollowsFromTheBias) {
  TensorList tensors = gguf_deepseek2_tensors();
  MetadataList metadata = gguf_deepseek2_metadata();
  EXPECT_EQ(spec_of(metadata, tensors).mixture.router.scoring, moe::Scoring::sigmoid);
  for (const std::string block : {"blk.1.", "blk.2.", "blk.3."}) {
    tensors.remove(block + "exp_probs_b.bias");
  }
  metadata.remove("deepseek2.expert_weights_norm");
  const moe::RouterSpec router = spec_of(metadata, tensors).mixture.router;
  EXPECT_EQ(router.scoring, moe::Scoring::softmax);
  EXPECT_FALSE(router.has_selection_bias);
  EXPECT_FALSE(router.normalise);
  metadata.set("deepseek2.expert_group_count", number_of(2));
  EXPECT_TRUE(read(metadata, tensors).ok());
  metadata.set("deepseek2.expert_group_used_count", number_of(1));
  EXPECT_TRUE(names(read(metadata, tensors), {"deepseek2.expert_group_count", "softmax"}));
  metadata.set("deepseek2.expert_gating_func", number_of(2));
  EXPECT_EQ(spec_of(metadata, tensors).mixture.router.groups, 2U);
  metadata.set("deepseek2.expert_gating_func", number_of(4));
  EXPECT_TRUE(names(read(metadata, tensors), {"deepseek2.expert_gating_func", "4"}));
}

TEST(MlaMoeMetadata, ArchitecturesWithIndexersScoreBySigmoid) {
  MetadataList metadata = gguf_latent_metadata();
  metadata.remove("glm-dsa.expert_gating_func");
  const TensorList tensors = gguf_latent_tensors().remove_all("exp_probs_b");
  EXPECT_EQ(spec_of(metadata, tensors).mixture.router.scoring, moe::Scoring::sigmoid);
}

TEST(MlaMoeMetadata, QueriesMayHaveNoRank) {
  MetadataList metadata = gguf_deepseek2_metadata();
  metadata.remove("deepseek2.attention.q_lora_rank");
  EXPECT_EQ(deepseek2_of(metadata).attention.query_rank, 0U);
  EXPECT_TRUE(names(read(gguf_latent_metadata().remove("glm-dsa.attention.q_lora_rank")),
                    {"glm-dsa.attention.q_lora_rank", "indexer"}));
}

struct Change {
  std::string_view key;
  GgufValue value;
  std::vector<std::string_view> named;  // beside the key
};

TEST(MlaMoeMetadata, RefusesContradictionsAndWhatIsUnknown) {
  const std::vector<Change> changes = {
      {"glm-dsa.attention.head_count_kv", number_of(2), {"attention.key_length_mla"}},
      {"glm-dsa.attention.key_length", number_of(13), {"kv_lora_rank 8"}},
      {"glm-dsa.attention.value_length", number_of(9), {"kv_lora_rank 8"}},
      {"glm-dsa.attention.key_length_mla", number_of(4), {"rope.dimension_count 4"}},
      {"glm-dsa.rope.dimension_count", number_of(3), {"3 lanes"}},
      {"glm-dsa.rope.dimension_count", number_of(0), {}},
      {"glm-dsa.attention.indexer.key_length", number_of(2), {"4 lanes"}},
      {"glm-dsa.nextn_predict_layers", number_of(5), {"block_count 5"}},
      {"glm-dsa.vocab_size", number_of(41), {"token_embd.weight"}},
      {"glm-dsa.expert_used_count", number_of(5), {"4 experts"}},
      {"glm-dsa.expert_group_count", number_of(3), {"4 experts"}},
      {"glm-dsa.attention.temperature_scale", 0.1, {}},
      {"glm-dsa.attention.causal", false, {}},
      {"glm-dsa.rope.scaling.type", text("ntk"), {"'ntk'"}},
      {"general.architecture", text("deepseek"), {"'deepseek'", "deepseek2"}},
  };
  for (const Change& change : changes) {
    MetadataList metadata = gguf_latent_metadata();
    if (change.key == "glm-dsa.rope.dimension_count") {
      metadata.remove("glm-dsa.attention.key_length");
    }
    const auto result = read(metadata.set(change.key, change.value));
    EXPECT_TRUE(names(result, {change.key})) << change.key;
    EXPECT_TRUE(names(result, change.named)) << change.key;
  }
}

TEST(MlaMoeMetadata, ChecksEveryNumber) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<GgufValue> bad_integers = {number_of(0),
                                               std::int64_t{-1},
                                               2.0,
                                               kNan,
                                               true,
                                               text("2"),
                                               number_of(std::uint64_t{1} << 40)};
  for (const std::string_view key :
       {"glm-dsa.block_count", "glm-dsa.embedding_length", "glm-dsa.context_length",
        "glm-dsa.feed_forward_length", "glm-dsa.attention.head_count",
        "glm-dsa.attention.kv_lora_rank", "glm-dsa.attention.key_length_mla",
        "glm-dsa.attention.value_length_mla", "glm-dsa.expert_count", "glm-dsa.expert_used_count",
        "glm-dsa.expert_feed_forward_length", "glm-dsa.attention.indexer.head_count",
        "glm-dsa.attention.indexer.key_length", "glm-dsa.attention.indexer.top_k"}) {
    for (std::size_t i = 0; i < bad_integers.size(); ++i) {
      EXPECT_TRUE(names(read(gguf_latent_metadata().set(key, bad_integers[i])), {key}))
          << key << " " << i;
    }
    EXPECT_TRUE(names(read(gguf_latent_metadata().remove(key)), {key, "is missing"}) ||
                names(read(gguf_latent_metadata().remove(key)), {"key_length"}))
        << key;
  }
  for (const GgufValue& value :
       {GgufValue(0.0), GgufValue(-1.0), GgufValue(kNan), GgufValue(1e300), text("1e-5")}) {
    const std::string_view key = "glm-dsa.attention.layer_norm_rms_epsilon";
    EXPECT_TRUE(names(read(gguf_latent_metadata().set(key, value)), {key}));
  }
}

}  // namespace
}  // namespace zllm::weight
