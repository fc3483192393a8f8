#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <zllm/moe/experts.h>

namespace zllm::backend::cpu {

// Rows [first, end) of a chosen expert's matrix times all rows of activations that chose it; first
// is a multiple of kPieceRows.
struct ExpertTask {
  std::uint32_t expert;
  std::uint64_t first;
  std::uint64_t end;
};

struct ExpertCut {
  std::uint64_t matrix_rows = 0;
  std::size_t threads = 1;
  // Products (matrix rows times rows of activations) that a task may hold, pieces permitting.
  std::size_t product_limit = 0;
};

// The work of all chosen experts in tasks of about equal cost, a few for each thread.
std::vector<ExpertTask> cut_experts(const moe::ExpertRows& groups, const ExpertCut& cut);

}  // namespace zllm::backend::cpu
