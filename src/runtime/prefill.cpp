#include <zllm/runtime/prefill.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace zllm::runtime {
namespace {

// Runs a round of one segment and commits its rows.
Result<RoundOutput> run_segment(AnyModel& model, Segment segment) {
  const SequenceId sequence = segment.sequence;
  const std::uint64_t rows = segment.tokens.size();
  ZLLM_TRY(RoundOutput output, model.submit(Round{.segments = {std::move(segment)}}));
  ZLLM_TRY(model.states().commit(sequence, rows));
  return output;
}

std::vector<std::uint32_t> rows_wanted(PrefillLogits logits, std::size_t rows, bool is_last_chunk) {
  std::vector<std::uint32_t> wanted;
  if (logits == PrefillLogits::all) {
    wanted.resize(rows);
    std::iota(wanted.begin(), wanted.end(), 0u);
  } else if (logits == PrefillLogits::last && is_last_chunk) {
    wanted.push_back(static_cast<std::uint32_t>(rows - 1));
  }
  return wanted;
}

}  // namespace

Result<RoundOutput> prefill(AnyModel& model, SequenceId sequence, std::span<const TokenId> tokens,
                            PrefillLogits logits) {
  RoundOutput all;
  all.vocabulary = model.info().limits.vocabulary;
  const std::size_t total = tokens.size();
  std::size_t done = 0;
  while (done < total) {
    ZLLM_TRY(const std::uint64_t start, model.states().rows(sequence));
    const std::size_t count = std::min<std::size_t>(model.info().limits.rows, total - done);
    const std::span<const TokenId> chunk = tokens.subspan(done, count);
    Segment segment{.sequence = sequence,
                    .start = start,
                    .kind = start == 0 ? SegmentKind::new_prefill : SegmentKind::append_prefill,
                    .tokens = {chunk.begin(), chunk.end()},
                    .logit_rows = rows_wanted(logits, count, done + count == total)};
    ZLLM_TRY(RoundOutput output, run_segment(model, std::move(segment)));
    all.logits.insert(all.logits.end(), output.logits.begin(), output.logits.end());
    done += count;
  }
  return all;
}

Result<RoundOutput> decode(AnyModel& model, SequenceId sequence, TokenId token) {
  ZLLM_TRY(const std::uint64_t start, model.states().rows(sequence));
  return run_segment(model, Segment{.sequence = sequence,
                                    .start = start,
                                    .kind = SegmentKind::decode,
                                    .tokens = {token},
                                    .logit_rows = {0}});
}

}  // namespace zllm::runtime
