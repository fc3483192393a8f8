#include <zllm/conformance/sequences.h>

#include <algorithm>
#include <numeric>

namespace zllm::conformance {
namespace {

void append(RoundParts& round, std::size_t sequence, std::uint64_t position, std::uint32_t rows) {
  if (rows != 0) {
    round.push_back({.sequence = static_cast<std::uint32_t>(sequence),
                     .first_row = static_cast<std::uint32_t>(row_count(round)),
                     .rows = rows,
                     .position = position});
  }
}

}  // namespace

std::uint64_t Sequences::tokens(std::size_t sequence) const {
  return std::uint64_t{segments_[sequence].history} + segments_[sequence].rows;
}

std::size_t Sequences::begin(std::size_t sequence) const {
  std::size_t tokens_before = 0;
  for (std::size_t i = 0; i < sequence; ++i) {
    tokens_before += tokens(i);
  }
  return tokens_before;
}

std::size_t Sequences::tokens() const { return begin(segments_.size()); }

RoundParts Sequences::history() const {
  RoundParts round;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    append(round, i, 0, segments_[i].history);
  }
  return round;
}

RoundParts Sequences::measured() const {
  RoundParts round;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    append(round, i, segments_[i].history, segments_[i].rows);
  }
  return round;
}

std::span<const float> Sequences::of(std::span<const float> data, std::size_t sequence) const {
  const std::size_t columns = data.size() / tokens();
  return data.subspan(begin(sequence) * columns, tokens(sequence) * columns);
}

std::vector<float> Sequences::of(std::span<const float> data, const RoundParts& round) const {
  const std::size_t columns = data.size() / tokens();
  std::vector<float> rows;
  for (const RoundPart& part : round) {
    const auto own = of(data, part.sequence).subspan(part.position * columns, part.rows * columns);
    rows.insert(rows.end(), own.begin(), own.end());
  }
  return rows;
}

std::size_t row_count(const RoundParts& round) {
  return round.empty() ? 0 : std::size_t{round.back().first_row} + round.back().rows;
}

std::vector<std::uint64_t> positions(const RoundPart& part) {
  std::vector<std::uint64_t> all(part.rows);
  std::iota(all.begin(), all.end(), part.position);
  return all;
}

PageTables::PageTables(const Sequences& sequences, std::uint32_t page_tokens) {
  const auto count = static_cast<std::uint32_t>(sequences.count());
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto pages =
        static_cast<std::uint32_t>((sequences.tokens(i) + page_tokens - 1) / page_tokens);
    std::vector<PageId>& own = pages_.emplace_back();
    for (std::uint32_t page = 0; page < pages; ++page) {
      own.emplace_back((page ^ 1U) * count + i);
      capacity_ = std::max(capacity_, own.back().value() + 1);
    }
  }
}

std::vector<backend::PagedSegment> PageTables::segments(const RoundParts& round) const {
  std::vector<backend::PagedSegment> all;
  for (const RoundPart& part : round) {
    all.push_back({.first_row = part.first_row,
                   .rows = part.rows,
                   .position = part.position,
                   .pages = pages_[part.sequence]});
  }
  return all;
}

std::vector<backend::SlotSegment> slot_segments(const RoundParts& round) {
  std::vector<backend::SlotSegment> all;
  for (const RoundPart& part : round) {
    const std::uint32_t before = 2 * part.sequence;
    const bool is_first = part.position == 0;
    all.push_back({.first_row = part.first_row,
                   .rows = part.rows,
                   .position = part.position,
                   .from = is_first ? std::nullopt : std::optional(SlotId{before}),
                   .to = SlotId{is_first ? before : before + 1}});
  }
  return all;
}

std::uint32_t slot_capacity(const Sequences& sequences) {
  return static_cast<std::uint32_t>(2 * sequences.count());
}

}  // namespace zllm::conformance
