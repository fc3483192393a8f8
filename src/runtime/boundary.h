#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <zllm/attention/sparse/selection.h>
#include <zllm/base/result.h>

namespace zllm::runtime {

// What one stage hands to the next for the rows of a round: the residual stream or streams behind
// its last layer, and the selection that later layers share. A host value, whole in itself, so that
// any transport can carry it.
struct Boundary {
  std::uint32_t streams = 1;
  std::uint32_t hidden = 0;
  std::vector<float> values;                              // [rows, streams, hidden]
  std::optional<attention::sparse::Selection> selection;  // of every row; model dependent

  std::size_t rows() const;

  bool operator==(const Boundary&) const = default;
};

// An error where the values are no whole rows or the selection is of another number of rows.
Status check(const Boundary& boundary);

// A little-endian form that starts with a magic number and a version. The boundary passes check().
std::vector<std::byte> to_bytes(const Boundary& boundary);
// Refuses, by name, what is truncated, of another version or contradicts itself.
Result<Boundary> boundary_from_bytes(std::span<const std::byte> bytes);

}  // namespace zllm::runtime
