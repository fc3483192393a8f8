#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/weight/assembly/mixture.h>

#include "testing/edited_json.h"
#include "testing/routed_tensors.h"

namespace zllm::weight {
namespace {

using testing::names;
using testing::parse;
using testing::TensorList;
using testing::with;
using testing::without;

constexpr const char *kConfig = R"({"n_routed_experts": 8, "num_experts_per_tok": 2,
  "intermediate_size": 48, "moe_intermediate_size": 16})";

Result<model_spec::Mixture> read(const Json& config, const MixtureKeys& keys = {},
                                 std::uint32_t layers = 4) {
  const auto reader = ConfigReader::open(config, "config.json");
  return mixture_from_config(reader.value(), keys, layers);
}

Result<model_spec::Mixture> read(std::string_view key, std::string_view value,
                                 const MixtureKeys& keys = {}) {
  return read(with(parse(kConfig), key, value), keys);
}

TEST(Mixture, TakesDefaultsOfTheFamily) {
  const MixtureKeys keys = {.dense_layers = 1, .scaling = 2.5, .shared_experts = 2};
  const auto mixture = read(parse(kConfig), keys);
  ASSERT_TRUE(mixture.ok()) << mixture.error().message;
  EXPECT_EQ(mixture->is_sparse, (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(mixture->router.experts, 8U);
  EXPECT_EQ(mixture->router.top_k, 2U);
  EXPECT_EQ(mixture->router.groups, 1U);
  EXPECT_EQ(mixture->router.scoring, moe::Scoring::sigmoid);
  EXPECT_TRUE(mixture->router.has_selection_bias);
  EXPECT_TRUE(mixture->router.normalise);
  EXPECT_EQ(mixture->router.scaling, 2.5f);
  EXPECT_EQ(mixture->dense_intermediate, 48U);
  EXPECT_EQ(mixture->expert_intermediate, 16U);
  EXPECT_EQ(mixture->shared_intermediate, 32U);
  EXPECT_EQ(mixture->activation.gate, activation::Gate::swiglu);
}

TEST(Mixture, ReadsEverySpelling) {
  const Json config = parse(R"({"num_experts": 8, "num_local_experts": 8,
    "num_experts_per_token": 3, "num_expert_group": 4, "topk_group": 2,
    "moe_renormalize": false, "moe_router_activation_func": "softmax", "topk_method": "greedy",
    "num_shared_experts": 1, "intermediate_size": 48, "moe_intermediate_size": 16,
    "routed_scaling_factor": 1.5, "swiglu_limit": 7.0, "hidden_act": "swish"})");
  const auto mixture = read(config);
  ASSERT_TRUE(mixture.ok()) << mixture.error().message;
  EXPECT_EQ(mixture->router, (moe::RouterSpec{.experts = 8,
                                              .top_k = 3,
                                              .groups = 4,
                                              .kept_groups = 2,
                                              .scoring = moe::Scoring::softmax,
                                              .has_selection_bias = false,
                                              .normalise = false,
                                              .scaling = 1.5f}));
  EXPECT_EQ(mixture->activation.gate, activation::Gate::clamped_swiglu);
  EXPECT_EQ(mixture->activation.limit, 7.0);
  EXPECT_EQ(mixture->shared_intermediate, 16U);
}

TEST(Mixture, NamesTheKeyThatIsWrong) {
  struct Case {
    const char *key, *value, *named;
  };
  for (const Case& item : std::vector<Case>{
           {"num_experts", "16", "n_routed_experts 8"},
           {"num_experts_per_token", "3", "num_experts_per_tok 2"},
           {"num_experts_per_tok", "9", "num_experts_per_tok chooses 9 of 8"},
           {"n_group", "3", "n_group has 3 groups"},
           {"topk_group", "2", "topk_group keeps 2 of 1"},
           {"scoring_func", "\"tanh\"", "scoring_func 'tanh'"},
           {"topk_method", "\"group_limited_greedy\"", "topk_method 'group_limited_greedy'"},
           {"hidden_act", "\"gelu\"", "hidden_act 'gelu'"},
           {"routed_scaling_factor", "0", "routed_scaling_factor"},
           {"swiglu_limit", "0", "swiglu_limit"},
           {"n_shared_experts", "1025", "n_shared_experts"},
           {"moe_intermediate_size", "null", "moe_intermediate_size is missing"},
           {"norm_topk_prob", "1", "norm_topk_prob must be true or false"},
           {"mlp_layer_types", "[\"sparse\"]", "mlp_layer_types must have one entry"},
           {"mlp_layer_types", R"(["dense", "moe", "sparse", "sparse"])", "'moe'"},
       }) {
    EXPECT_TRUE(names(read(item.key, item.value), {item.named})) << item.key;
  }
  EXPECT_TRUE(names(read(without(parse(kConfig), "n_routed_experts")), {"n_routed_experts"}));
  const MixtureKeys clamped = {.swiglu_limit = 10.0};
  EXPECT_TRUE(names(read("swiglu_limit", "null", clamped), {"swiglu_limit", "null"}));
}

TEST(Mixture, ChecksEveryCount) {
  for (const std::string key : {"n_routed_experts", "num_experts_per_tok", "n_group", "topk_group",
                                "intermediate_size", "moe_intermediate_size", "moe_layer_freq"}) {
    for (const Json& bad : testing::bad_integers()) {
      EXPECT_TRUE(names(read(with(parse(kConfig), key, bad)), {key})) << bad.dump();
    }
  }
}

TEST(Mixture, GroupsNeedTwoMembersAndEnoughExperts) {
  const Json grouped = with(with(parse(kConfig), "n_group", "8"), "topk_group", "4");
  EXPECT_TRUE(names(read(grouped), {"n_group", "groups of one expert"}));
  const Json narrow = with(with(parse(kConfig), "n_group", "4"), "topk_group", "1");
  EXPECT_TRUE(read(narrow).ok());
  EXPECT_TRUE(names(read(with(narrow, "num_experts_per_tok", "3")), {"n_group", "chooses 3"}));
}

TEST(Mixture, ListsOfLayersAgreeWithCounts) {
  const char *types = R"(["dense", "sparse", "dense", "sparse"])";
  const auto stated = read("mlp_layer_types", types, {.dense_layers = 3});
  ASSERT_TRUE(stated.ok()) << stated.error().message;
  EXPECT_EQ(stated->is_sparse, (std::vector<bool>{false, true, false, true}));
  const Json both =
      with(with(parse(kConfig), "mlp_layer_types", types), "first_k_dense_replace", "1");
  EXPECT_TRUE(names(read(both), {"mlp_layer_types contradicts first_k_dense_replace"}));
  const auto by_default = read(both, {.dense_layers = 1});
  ASSERT_TRUE(by_default.ok()) << by_default.error().message;
  EXPECT_EQ(by_default->is_sparse, stated->is_sparse);
  const auto every_other = read("moe_layer_freq", "2");
  ASSERT_TRUE(every_other.ok());
  EXPECT_EQ(every_other->is_sparse, (std::vector<bool>{true, false, true, false}));
}

TEST(Mixture, StepsAndSingleDenseLayers) {
  const MixtureKeys keys = {.sparse_layers = SparseLayers::by_step};
  const Json config = with(parse(kConfig), "decoder_sparse_step", "2");
  const auto stepped = read(config, keys);
  ASSERT_TRUE(stepped.ok()) << stepped.error().message;
  EXPECT_EQ(stepped->is_sparse, (std::vector<bool>{false, true, false, true}));
  const auto excepted = read(with(config, "mlp_only_layers", "[3]"), keys);
  ASSERT_TRUE(excepted.ok());
  EXPECT_EQ(excepted->is_sparse, (std::vector<bool>{false, true, false, false}));
  EXPECT_TRUE(names(read(with(config, "mlp_only_layers", "[4]"), keys), {"mlp_only_layers", "4"}));
  EXPECT_TRUE(names(read(with(config, "mlp_only_layers", "3"), keys), {"mlp_only_layers"}));
}

model_spec::Mixture small_mixture() {
  model_spec::Mixture mixture;
  mixture.is_sparse = {false, true};
  mixture.dense_intermediate = 48;
  mixture.expert_intermediate = 16;
  mixture.shared_intermediate = 16;
  mixture.router = {.experts = testing::kSmallExperts, .top_k = 2, .has_selection_bias = true};
  return mixture;
}

TEST(MixtureBinding, BindsExpertsOfTheirOwnUnderBothNamings) {
  for (const bool is_numbered : {false, true}) {
    TensorList list;
    testing::add_mlp(list, "a.", 48);
    testing::add_router(list, "b.", true, true);
    if (is_numbered) {
      testing::add_numbered_experts(list, "b.");
    } else {
      testing::add_experts(list, "b.");
    }
    const TensorTable table = list.table();
    WeightBinder binder(table);
    const auto dense = bind_mixture(binder, "a.", kHubMixture, small_mixture(), 32, 0);
    const auto sparse = bind_mixture(binder, "b.", kHubMixture, small_mixture(), 32, 1);
    const Status status = binder.finish({});
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(std::get<MlpWeights>(dense).down.columns, 48U);
    const auto& experts = std::get<ExpertWeights>(sparse);
    ASSERT_EQ(experts.gate.size(), 4U);
    EXPECT_EQ(experts.gate[3].name,
              is_numbered ? "b.experts.3.w1.weight" : "b.experts.3.gate_proj.weight");
    EXPECT_EQ(experts.up[3].name,
              is_numbered ? "b.experts.3.w3.weight" : "b.experts.3.up_proj.weight");
    EXPECT_EQ(experts.down[3].rows, 32U);
    EXPECT_TRUE(experts.selection_bias.has_value());
    EXPECT_EQ(experts.shared.value().up.name, "b.shared_experts.up_proj.weight");
    EXPECT_FALSE(experts.shared_gate.has_value());
  }
}

TEST(MixtureBinding, CutsJoinedStacksWithTheGateFirst) {
  constexpr std::size_t kRow = 32;
  std::array<float, 4 * 2 * 16 * kRow> joined{};
  std::array<float, 4 * 16 * kRow> down{};
  TensorList list;
  testing::add_router(list, "b.", true, true);
  list.set("b.experts.gate_up_proj", {4, 32, 32}, encoding::Encoding::f32,
           testing::bytes_of(joined));
  list.set("b.experts.down_proj", {4, 32, 16}, encoding::Encoding::f32, testing::bytes_of(down));
  const TensorTable table = list.table();
  WeightBinder binder(table);
  const auto sparse = bind_mixture(binder, "b.", kHubMixture, small_mixture(), 32, 1);
  ASSERT_TRUE(binder.finish({}).ok());
  const auto& experts = std::get<ExpertWeights>(sparse);
  ASSERT_EQ(experts.up.size(), 4U);
  const auto at = [](const auto& view, const auto& values) {
    return (view.bytes.data() - testing::bytes_of(values).data()) /
           static_cast<std::ptrdiff_t>(sizeof(float));
  };
  EXPECT_EQ(at(experts.gate[2], joined), 2 * 32 * 32);
  EXPECT_EQ(at(experts.up[2], joined), 2 * 32 * 32 + 16 * 32);
  EXPECT_EQ(at(experts.down[3], down), 3 * 32 * 16);
  EXPECT_EQ(experts.up[2].rows, 16U);
  EXPECT_EQ(experts.up[2].bytes.size(), 16U * 32 * sizeof(float));
}

TEST(MixtureBinding, CutsStacksOfGguf) {
  TensorList list;
  testing::add_gguf_experts(list, "blk.1.", true, true);
  const TensorTable table = list.table();
  WeightBinder binder(table);
  const auto sparse = bind_mixture(binder, "blk.1.", kGgufMixture, small_mixture(), 32, 1);
  ASSERT_TRUE(binder.finish({}).ok());
  const auto& experts = std::get<ExpertWeights>(sparse);
  ASSERT_EQ(experts.down.size(), 4U);
  EXPECT_EQ(experts.down[1].bytes.data() - experts.down[0].bytes.data(), 32 * 16 * 4);
  EXPECT_EQ(experts.down[1].columns, 16U);
  TensorList wrong;
  testing::add_gguf_experts(wrong, "blk.1.", true, true);
  wrong.set("blk.1.ffn_up_exps.weight", {4, 32, 16});
  const TensorTable wrong_table = wrong.table();
  WeightBinder wrong_binder(wrong_table);
  bind_mixture(wrong_binder, "blk.1.", kGgufMixture, small_mixture(), 32, 1);
  EXPECT_TRUE(names(Result<int>(wrong_binder.finish({}).error()),
                    {"blk.1.ffn_up_exps.weight", "[4, 16, 32]", "[4, 32, 16]"}));
}

TEST(MixtureBinding, ListsMissingExperts) {
  TensorList list;
  testing::add_router(list, "b.", true, true);
  testing::add_experts(list, "b.");
  list.remove("b.experts.2.up_proj.weight").remove("b.gate.e_score_correction_bias");
  const TensorTable table = list.table();
  WeightBinder binder(table);
  bind_mixture(binder, "b.", kHubMixture, small_mixture(), 32, 1);
  EXPECT_TRUE(names(
      Result<int>(binder.finish({}).error()),
      {"lacks 2 tensors", "'b.experts.2.up_proj.weight'", "'b.gate.e_score_correction_bias'"}));
}

TEST(MixtureBinding, NamesFewOfManyExpertsThatAreNotThere) {
  model_spec::Mixture mixture = small_mixture();
  mixture.router.experts = 10000;
  const TensorTable table = TensorList().table();
  WeightBinder binder(table);
  bind_mixture(binder, "b.", kHubMixture, mixture, 32, 1);
  EXPECT_TRUE(names(Result<int>(binder.finish({}).error()), {"lacks 17 tensors"}));
}

}  // namespace
}  // namespace zllm::weight
