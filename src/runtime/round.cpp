#include <zllm/runtime/round.h>

#include <cmath>
#include <unordered_set>

#include <zllm/base/text.h>

namespace zllm::runtime {
namespace {

Error invalid(const Segment& segment, std::string_view what) {
  return Error{Code::invalid_argument,
               concat("segment of sequence ", segment.sequence.value(), ": ", what)};
}

Status validate_logit_rows(const Segment& segment) {
  bool is_first = true;
  std::uint32_t previous = 0;
  for (const std::uint32_t row : segment.logit_rows) {
    if (row >= segment.tokens.size()) {
      return invalid(segment, concat("logits wanted of row ", row, " of ", segment.tokens.size()));
    }
    if (!is_first && row <= previous) {
      return invalid(segment, "logit rows must ascend");
    }
    previous = row;
    is_first = false;
  }
  return {};
}

Status validate_segment(const Segment& segment, const RoundLimits& limits) {
  if (segment.tokens.empty()) {
    return invalid(segment, "no tokens");
  }
  if (segment.kind == SegmentKind::new_prefill && segment.start != 0) {
    return invalid(segment, concat("a new prefill starts at 0, not ", segment.start));
  }
  if (segment.kind == SegmentKind::decode && segment.tokens.size() != 1) {
    return invalid(segment, concat("a decode is one row, not ", segment.tokens.size()));
  }
  if (segment.start > limits.context || segment.tokens.size() > limits.context - segment.start) {
    return invalid(segment, concat(segment.tokens.size(), " rows at position ", segment.start,
                                   " exceed the context of ", limits.context));
  }
  for (const TokenId token : segment.tokens) {
    if (token < 0 || static_cast<std::uint32_t>(token) >= limits.vocabulary) {
      return invalid(segment,
                     concat("token ", token, " is outside the vocabulary of ", limits.vocabulary));
    }
  }
  return validate_logit_rows(segment);
}

}  // namespace

std::uint64_t Round::rows() const {
  std::uint64_t total = 0;
  for (const Segment& segment : segments) {
    total += segment.tokens.size();
  }
  return total;
}

std::vector<std::uint32_t> wanted_rows(const Round& round) {
  std::vector<std::uint32_t> rows;
  std::uint32_t first = 0;
  for (const Segment& segment : round.segments) {
    for (const std::uint32_t row : segment.logit_rows) {
      rows.push_back(first + row);
    }
    first += static_cast<std::uint32_t>(segment.tokens.size());
  }
  return rows;
}

Status check_finite(const RoundOutput& output) {
  for (std::size_t row = 0; row < output.rows(); ++row) {
    // 0 * x is 0 for every finite x and NaN for all others, and sums need no branch.
    float sum = 0;
    for (const float logit : output.row(row)) {
      sum += 0.0F * logit;
    }
    if (std::isnan(sum)) {
      return Error{Code::invalid_file,
                   concat("the logits of output row ", row,
                          " are not finite: the weights hold NaN or infinite values")};
    }
  }
  return {};
}

Status validate(const Round& round, const RoundLimits& limits) {
  if (round.segments.empty()) {
    return Error{Code::invalid_argument, "a round without segments"};
  }
  if (round.rows() > limits.rows) {
    return Error{Code::invalid_argument,
                 concat("a round of ", round.rows(), " rows exceeds ", limits.rows)};
  }
  std::unordered_set<SequenceId> seen;
  for (const Segment& segment : round.segments) {
    ZLLM_TRY(validate_segment(segment, limits));
    if (!seen.insert(segment.sequence).second) {
      return invalid(segment, "named twice in one round");
    }
  }
  return {};
}

}  // namespace zllm::runtime
