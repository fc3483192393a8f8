#pragma once

#include <cstdint>

namespace zllm::attention::sparse {

// The indexer that chooses the positions a query attends to. Formulas: indexer.h.
struct IndexerSpec {
  std::uint32_t heads = 0;
  std::uint32_t width = 0;    // of an index head and of the one index key
  std::uint32_t top_k = 0;    // positions that a row keeps
  float score_scale = 1.0f;   // multiplies query . key; usually width^-0.5
  float weight_scale = 1.0f;  // multiplies the head weights; usually heads^-0.5

  bool operator==(const IndexerSpec&) const = default;
};

// Keys pooled in groups of `pool` consecutive positions. Formulas: kpool.h.
struct KpoolSpec {
  IndexerSpec indexer;      // top_k counts positions: top_k / pool pools are kept
  std::uint32_t pool = 1;   // positions of one pool, at least 1, at most top_k
  bool select_tail = true;  // the positions of the pool in progress are always kept

  bool operator==(const KpoolSpec&) const = default;
};

}  // namespace zllm::attention::sparse
