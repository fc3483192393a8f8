#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::attention::sparse {

// Which positions of its own sequence each row attends to. Made by the order contract "highest
// score first, of equal scores the lower position"; kept and consumed in ascending position, so
// that a row's sums have one order. Positions are logical, never page slots: a selection may leave
// the layer, the device and the stage that made it.
class Selection {
 public:
  void clear();
  // The next row's positions, ascending and distinct.
  void append_row(std::span<const std::uint32_t> positions);

  std::size_t rows() const { return ends_.size(); }
  std::span<const std::uint32_t> row(std::size_t index) const;

  // A little-endian form that any host reads back: row count, counts, positions.
  std::vector<std::byte> to_bytes() const;
  // Refuses, by row, what is truncated, too long or not ascending.
  static Result<Selection> from_bytes(std::span<const std::byte> bytes);

  bool operator==(const Selection&) const = default;

 private:
  std::vector<std::uint64_t> ends_;  // of each row in positions_
  std::vector<std::uint32_t> positions_;
};

// An error that names the first row whose positions its query does not see (later than the query),
// or another number of rows than there are query positions.
Status check_visible(const Selection& selection, std::span<const std::uint64_t> query_positions);

}  // namespace zllm::attention::sparse
