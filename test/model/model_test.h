#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <zllm/runtime/any_model.h>

#include "fixture.h"

namespace zllm::test {

using Logits = std::vector<float>;  // [rows, vocabulary]

// A part of a sequence as one segment of a round.
struct Part {
  SequenceId sequence = {};
  std::uint64_t start = 0;
  std::vector<TokenId> tokens;
  runtime::SegmentKind kind = runtime::SegmentKind::append_prefill;
};
// With the logits of all rows wanted. A part that starts a sequence is a new prefill unless it is
// verified.
runtime::Segment segment_of(const Part& part);

void expect_same_bits(std::span<const float> actual, std::span<const float> expected,
                      const std::string& what);
double largest_difference(std::span<const float> actual, std::span<const float> expected);

// Every fixture through one way that rows can take. All ways must give the same bits, and those
// must agree with the oracle.
class ModelTest : public testing::TestWithParam<std::string> {
 protected:
  ModelTest();

  // Their failures fail the running test.
  SequenceId create(runtime::AnyModel& model) const;
  static Logits prefill(runtime::AnyModel& model, SequenceId id, std::span<const TokenId> tokens);
  // One round per token.
  static Logits decode(runtime::AnyModel& model, SequenceId id, std::span<const TokenId> tokens);
  // The logits of all rows of a sequence that lives for this alone.
  Logits whole(runtime::AnyModel& model, std::span<const TokenId> tokens) const;
  Logits whole(runtime::AnyModel& model) const { return whole(model, fixture_.prompt); }

  std::size_t vocabulary() const { return fixture_.logits.size() / fixture_.prompt.size(); }
  std::size_t length() const { return fixture_.prompt.size(); }
  std::span<const TokenId> first(std::size_t rows) const;
  std::span<const TokenId> rest(std::size_t rows) const;
  std::vector<TokenId> tokens(std::size_t start, std::size_t count) const;
  // A token that is not the prompt's at that row.
  TokenId wrong_token(std::size_t row) const;
  // Rows [start, start + count) of logits.
  std::span<const float> rows(std::span<const float> logits, std::size_t start,
                              std::size_t count) const;

  ModelFixture fixture_;
};

bool is_recurrent(runtime::AnyModel& model);

std::string fixture_suffix(const testing::TestParamInfo<std::string>& tested);

}  // namespace zllm::test
