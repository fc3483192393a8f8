#include <zllm/backend/cpu/expert_tasks.h>

#include <algorithm>

#include <zllm/backend/cpu/product.h>

namespace zllm::backend::cpu {
namespace {

// Rows of activations whose products take as long as reading the matrix from memory once.
constexpr std::uint64_t kReadingRows = 8;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace

std::vector<ExpertTask> cut_experts(const moe::ExpertRows& groups, const ExpertCut& cut) {
  const auto rows_of = [&](std::size_t expert) -> std::uint64_t {
    return groups.begins[expert + 1] - groups.begins[expert];
  };
  const std::size_t experts = groups.begins.size() - 1;
  std::uint64_t total = 0;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    total += rows_of(expert) == 0 ? 0 : rows_of(expert) + kReadingRows;
  }
  const std::uint64_t pieces = piece_count(cut.matrix_rows);
  const std::uint64_t turns = cut.threads == 1 ? 1 : cut.threads * kTurnsAThread;
  std::vector<ExpertTask> tasks;
  for (std::size_t expert = 0; expert < experts; ++expert) {
    const std::uint64_t rows = rows_of(expert);
    if (rows == 0) {
      continue;
    }
    const std::uint64_t parts =
        std::min(pieces, std::max(divide_up((rows + kReadingRows) * turns, total),
                                  divide_up(rows * cut.matrix_rows, cut.product_limit)));
    for (std::uint64_t part = 0; part < parts; ++part) {
      tasks.push_back({.expert = static_cast<std::uint32_t>(expert),
                       .first = pieces * part / parts * kPieceRows,
                       .end = std::min(pieces * (part + 1) / parts * kPieceRows, cut.matrix_rows)});
    }
  }
  return tasks;
}

}  // namespace zllm::backend::cpu
