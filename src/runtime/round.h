#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/runtime/boundary.h>

namespace zllm::runtime {

enum class SegmentKind : std::uint8_t {
  new_prefill,     // a prompt from position 0
  append_prefill,  // more prompt rows on rows that are there
  decode,          // the row of one sampled token
  verify,          // rows of drafted tokens, of which commit keeps some
};

// The rows of one sequence in a round.
struct Segment {
  SequenceId sequence;
  std::uint64_t start = 0;  // must equal the committed rows of the sequence
  SegmentKind kind = SegmentKind::new_prefill;
  std::vector<TokenId> tokens;
  // Rows of the segment whose logits are wanted, ascending, 0 = its first row.
  std::vector<std::uint32_t> logit_rows;
};

// One submission of the whole model: prefill chunks and decode rows of distinct sequences, mixed.
struct Round {
  std::vector<Segment> segments;
  // What the stage before gave for these rows; nothing for a stage that starts with the embedding.
  std::optional<Boundary> input = {};

  std::uint64_t rows() const;
};

// The rows whose logits are wanted, numbered over the whole round.
std::vector<std::uint32_t> wanted_rows(const Round& round);

// Logits of the wanted rows, in the order of the segments and of their logit_rows; or, from a stage
// that does not end with the head, what the next stage needs.
struct RoundOutput {
  std::uint32_t vocabulary = 0;
  std::vector<float> logits;
  std::optional<Boundary> boundary = {};

  std::size_t rows() const { return vocabulary == 0 ? 0 : logits.size() / vocabulary; }
  std::span<const float> row(std::size_t index) const {
    return std::span(logits).subspan(index * vocabulary, vocabulary);
  }
};

// An error that names the first row with a NaN or infinite logit: the weights or the input are
// broken.
Status check_finite(const RoundOutput& output);

struct RoundLimits {
  std::uint32_t vocabulary = 0;
  std::uint64_t context = 0;  // rows that a sequence may hold
  std::uint32_t rows = 0;     // rows of one round
};

// Everything about a round that can be judged without the sequences' state: shapes, kinds, token
// ids, limits, a sequence named twice.
Status validate(const Round& round, const RoundLimits& limits);

}  // namespace zllm::runtime
