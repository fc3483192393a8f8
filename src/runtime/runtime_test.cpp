#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <zllm/runtime/memory_fit.h>
#include <zllm/runtime/round.h>

namespace zllm::runtime {
namespace {

constexpr RoundLimits kLimits{.vocabulary = 10, .context = 8, .rows = 6};

Segment segment(std::uint64_t id, std::uint64_t start, SegmentKind kind,
                std::vector<TokenId> tokens, std::vector<std::uint32_t> logit_rows = {}) {
  return {.sequence = SequenceId(id),
          .start = start,
          .kind = kind,
          .tokens = std::move(tokens),
          .logit_rows = std::move(logit_rows)};
}

TEST(Round, AcceptsAMixOfKinds) {
  const Round round{{segment(1, 0, SegmentKind::new_prefill, {1, 2, 3}, {0, 2}),
                     segment(2, 7, SegmentKind::decode, {9}, {0}),
                     segment(3, 4, SegmentKind::verify, {1, 1})}};
  EXPECT_TRUE(validate(round, kLimits).ok());
  EXPECT_EQ(wanted_rows(round), (std::vector<std::uint32_t>{0, 2, 3}));
}

TEST(Round, RefusesEachBadShapeByName) {
  const auto message = [](Segment bad) {
    const Status status = validate(Round{{std::move(bad)}}, kLimits);
    return status.ok() ? std::string() : status.error().message;
  };
  using enum SegmentKind;
  EXPECT_NE(message(segment(1, 0, new_prefill, {})).find("no tokens"), std::string::npos);
  EXPECT_NE(message(segment(1, 2, new_prefill, {1})).find("starts at 0"), std::string::npos);
  EXPECT_NE(message(segment(1, 2, decode, {1, 2})).find("one row"), std::string::npos);
  EXPECT_NE(message(segment(1, 7, append_prefill, {1, 2})).find("context of 8"), std::string::npos);
  EXPECT_NE(message(segment(1, UINT64_MAX, decode, {1})).find("context of 8"), std::string::npos);
  EXPECT_NE(message(segment(1, 0, new_prefill, {10})).find("token 10"), std::string::npos);
  EXPECT_NE(message(segment(1, 0, new_prefill, {-1})).find("token -1"), std::string::npos);
  EXPECT_NE(message(segment(1, 0, new_prefill, {1}, {1})).find("row 1 of 1"), std::string::npos);
  EXPECT_NE(message(segment(1, 0, new_prefill, {1, 1}, {1, 0})).find("ascend"), std::string::npos);
  EXPECT_FALSE(validate(Round{}, kLimits).ok());
  const Round twice{{segment(1, 0, new_prefill, {1}), segment(1, 1, decode, {1})}};
  EXPECT_FALSE(validate(twice, kLimits).ok());
  const Round long_round{{segment(1, 0, new_prefill, {1, 1, 1, 1, 1, 1, 1})}};
  EXPECT_FALSE(validate(long_round, kLimits).ok());
}

TEST(Round, FindsLogitsThatAreNotFinite) {
  RoundOutput output{.vocabulary = 2, .logits = {1, 2, 3, 4}};
  EXPECT_TRUE(check_finite(output).ok());
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    output.logits[3] = bad;
    ASSERT_FALSE(check_finite(output).ok());
    EXPECT_NE(check_finite(output).error().message.find("row 1"), std::string::npos);
  }
}

constexpr MemoryNeed kNeed{.weight_bytes = 1 << 20,
                           .state_bytes_per_row = 1 << 10,
                           .workspace_bytes = 1 << 10,
                           .max_positions = 4096};

TEST(MemoryFit, GrantsWhatFitsAndTheModelsContextByDefault) {
  EXPECT_EQ(fit_memory(kNeed, {}, 64 << 20)->context, 4096u);
  EXPECT_EQ(fit_memory(kNeed, {}, std::nullopt)->cache_rows, 4096u);
  const auto asked = fit_memory(kNeed, {.context = 100, .cache_rows = 300}, 64 << 20);
  EXPECT_EQ(asked->context, 100u);
  EXPECT_EQ(asked->cache_rows, 300u);
}

TEST(MemoryFit, CutsAnOpenContextAndRefusesAnAskedOne) {
  const auto cut = fit_memory(kNeed, {}, 3 << 20);
  ASSERT_TRUE(cut.ok());
  EXPECT_LT(cut->context, 4096u);
  EXPECT_GE(cut->context, kSmallestOpenContext);
  const auto refused = fit_memory(kNeed, {.context = 4096}, 3 << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("at most"), std::string::npos);
  EXPECT_FALSE(fit_memory(kNeed, {}, 1 << 20).ok());
  MemoryNeed huge = kNeed;
  huge.weight_bytes = UINT64_MAX;
  EXPECT_FALSE(fit_memory(huge, {}, UINT64_MAX).ok());
}

TEST(MemoryFit, CountsTheStateOfEverySequence) {
  MemoryNeed need = kNeed;
  need.state_bytes_per_sequence = 4 << 20;
  const auto fits = fit_memory(need, {.context = 64, .sequences = 4}, 32 << 20);
  ASSERT_TRUE(fits.ok());
  EXPECT_EQ(fits->cache_rows, 64u);
  const auto refused = fit_memory(need, {.context = 64, .sequences = 16}, 32 << 20);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::resource_exhausted);
  EXPECT_NE(refused.error().message.find("state of 16 sequences"), std::string::npos);
  EXPECT_NE(refused.error().message.find("at most 7 sequences"), std::string::npos);
  // What the states take is not there for rows.
  EXPECT_LT(fit_memory(need, {.sequences = 7}, 32 << 20)->cache_rows, 4096u);
  EXPECT_FALSE(fit_memory(need, {.context = 64, .sequences = 0}, 32 << 20).ok());
  need.state_bytes_per_sequence = UINT64_MAX;
  EXPECT_FALSE(fit_memory(need, {.context = 64, .sequences = 2}, 32 << 20).ok());
}

}  // namespace
}  // namespace zllm::runtime
