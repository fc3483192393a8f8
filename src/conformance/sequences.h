#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/backend/capability/paged.h>
#include <zllm/backend/capability/slots.h>
#include <zllm/conformance/case.h>

namespace zllm::conformance {

// The rows of one sequence in a round.
struct RoundPart {
  std::uint32_t sequence = 0;
  std::uint32_t first_row = 0;  // in the round
  std::uint32_t rows = 0;
  std::uint64_t position = 0;  // of the first row
};
using RoundParts = std::vector<RoundPart>;

// The sequences of a case, whose data lie one sequence behind the other, and the rounds that they
// run in: what comes before, then what counts.
class Sequences {
 public:
  explicit Sequences(std::vector<Segment> segments) : segments_(std::move(segments)) {}

  std::size_t count() const { return segments_.size(); }
  std::size_t tokens() const;  // of all
  std::uint64_t tokens(std::size_t sequence) const;
  RoundParts history() const;  // of the sequences that have one
  RoundParts measured() const;

  // Of data [tokens(), columns]: a sequence's, or a round's.
  std::span<const float> of(std::span<const float> data, std::size_t sequence) const;
  std::vector<float> of(std::span<const float> data, const RoundParts& round) const;

 private:
  std::size_t begin(std::size_t sequence) const;

  std::vector<Segment> segments_;
};

std::size_t row_count(const RoundParts& round);
std::vector<std::uint64_t> positions(const RoundPart& part);

// Pages of sequences, none beside its neighbour.
class PageTables {
 public:
  PageTables(const Sequences& sequences, std::uint32_t page_tokens);

  std::uint32_t capacity() const { return capacity_; }
  std::vector<backend::PagedSegment> segments(const RoundParts& round) const;

 private:
  std::uint32_t capacity_ = 0;
  std::vector<std::vector<PageId>> pages_;
};

// Each sequence has two slots, one for the state before what is measured.
std::vector<backend::SlotSegment> slot_segments(const RoundParts& round);
std::uint32_t slot_capacity(const Sequences& sequences);

}  // namespace zllm::conformance
