#include <algorithm>
#include <string>

#include <zllm/runtime/prefill.h>

#include "model_test.h"

namespace zllm::test {
namespace {

class OracleTest : public ModelTest {};

TEST_P(OracleTest, WholePrefillAgrees) {
  registry::Model model = load_fixture(fixture_);
  const double worst = largest_difference(whole(model.model()), fixture_.logits);
  EXPECT_LT(worst, fixture_.tolerance);
  RecordProperty("max_logit_difference", std::to_string(worst));
}

// Follows the oracle's own tokens: each must be the likeliest here too, or, where activations are
// quantised, within the tolerance of it.
TEST_P(OracleTest, GreedyTokensAgree) {
  registry::Model model = load_fixture(fixture_);
  // The oracle's tokens come from forwards of the final length.
  const auto id = model.model().states().create(length() + fixture_.greedy.size());
  ASSERT_TRUE(id.ok());
  Logits row = prefill(model.model(), *id, fixture_.prompt);
  for (std::size_t i = 0; i < fixture_.greedy.size(); ++i) {
    const std::span<const float> last = std::span(row).last(vocabulary());
    const float best = *std::ranges::max_element(last);
    const float chosen = last[static_cast<std::size_t>(fixture_.greedy[i])];
    ASSERT_LE(best - chosen, fixture_.is_quantised ? fixture_.tolerance : 0.0) << "token " << i;
    row = decode(model.model(), *id, std::span(fixture_.greedy).subspan(i, 1));
  }
}

TEST_P(OracleTest, HalfPrecisionCacheStaysClose) {
  registry::Model exact = load_fixture(fixture_);
  registry::Model half = load_fixture(fixture_, {.kv_type = backend::KvType::f16});
  const double worst = largest_difference(whole(half.model()), whole(exact.model()));
  // Rounding moves int8 codes of quantised activations to their neighbours, and keys over the
  // border of a selection.
  EXPECT_LT(worst, fixture_.is_quantised ? fixture_.tolerance : fixture_.has_selection ? 1.0 : 0.1);
  EXPECT_GT(worst, 0.0);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, OracleTest, testing::ValuesIn(model_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
