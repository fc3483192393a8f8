#include "model_test.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <zllm/runtime/prefill.h>

namespace zllm::test {

using runtime::AnyModel;
using runtime::SegmentKind;

runtime::Segment segment_of(const Part& part) {
  const bool is_new = part.start == 0 && part.kind != SegmentKind::verify;
  runtime::Segment segment{.sequence = part.sequence,
                           .start = part.start,
                           .kind = is_new ? SegmentKind::new_prefill : part.kind,
                           .tokens = part.tokens,
                           .logit_rows = std::vector<std::uint32_t>(part.tokens.size())};
  std::iota(segment.logit_rows.begin(), segment.logit_rows.end(), 0U);
  return segment;
}

void expect_same_bits(std::span<const float> actual, std::span<const float> expected,
                      const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size_bytes()), 0) << what;
}

double largest_difference(std::span<const float> actual, std::span<const float> expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    worst = std::max(worst, std::abs(double{actual[i]} - double{expected[i]}));
  }
  return worst;
}

bool is_recurrent(AnyModel& model) { return model.info().is_recurrent; }

std::string fixture_suffix(const testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

ModelTest::ModelTest() : fixture_(read_model_fixture(GetParam())) {}

SequenceId ModelTest::create(AnyModel& model) const {
  const auto id = model.states().create(length());
  EXPECT_TRUE(id.ok()) << id.error().message;
  return *id;
}

Logits ModelTest::prefill(AnyModel& model, SequenceId id, std::span<const TokenId> tokens) {
  auto output = runtime::prefill(model, id, tokens, runtime::PrefillLogits::all);
  EXPECT_TRUE(output.ok()) << output.error().message;
  return output.ok() ? std::move(output->logits) : Logits();
}

Logits ModelTest::decode(AnyModel& model, SequenceId id, std::span<const TokenId> tokens) {
  Logits logits;
  for (const TokenId token : tokens) {
    const auto output = runtime::decode(model, id, token);
    EXPECT_TRUE(output.ok()) << output.error().message;
    logits.insert(logits.end(), output->logits.begin(), output->logits.end());
  }
  return logits;
}

Logits ModelTest::whole(AnyModel& model, std::span<const TokenId> tokens) const {
  const SequenceId id = create(model);
  Logits logits = prefill(model, id, tokens);
  EXPECT_TRUE(model.states().release(id).ok());
  return logits;
}

std::span<const TokenId> ModelTest::first(std::size_t rows) const {
  return std::span(fixture_.prompt).first(rows);
}

std::span<const TokenId> ModelTest::rest(std::size_t rows) const {
  return std::span(fixture_.prompt).subspan(rows);
}

std::vector<TokenId> ModelTest::tokens(std::size_t start, std::size_t count) const {
  const auto part = rest(start).first(count);
  return {part.begin(), part.end()};
}

TokenId ModelTest::wrong_token(std::size_t row) const {
  const auto token = static_cast<std::size_t>(fixture_.prompt[row % length()]);
  return static_cast<TokenId>((token + 1) % vocabulary());
}

std::span<const float> ModelTest::rows(std::span<const float> logits, std::size_t start,
                                       std::size_t count) const {
  return logits.subspan(start * vocabulary(), count * vocabulary());
}

}  // namespace zllm::test
