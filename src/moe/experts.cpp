#include <zllm/moe/experts.h>

#include <algorithm>
#include <vector>

#include <zllm/activation/reference.h>
#include <zllm/base/check.h>

namespace zllm::moe {
namespace {

double dot(std::span<const float> weights, std::span<const double> lanes) {
  double sum = 0.0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    sum += static_cast<double>(weights[i]) * lanes[i];
  }
  return sum;
}

// weight * (the expert's output) of one row, added to its sums.
void add_expert(const ExpertWeights& weights, const activation::Spec& act, std::size_t expert,
                double weight, std::span<const double> row, std::span<double> sums) {
  const std::size_t width = weights.width;
  const std::size_t matrix = width * weights.intermediate;
  const auto gate = weights.gate.subspan(expert * matrix, matrix);
  const auto up = weights.up.subspan(expert * matrix, matrix);
  const auto down = weights.down.subspan(expert * matrix, matrix);
  std::vector<double> joined(weights.intermediate);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    joined[i] = activation::apply(act, dot(gate.subspan(i * width, width), row),
                                  dot(up.subspan(i * width, width), row));
  }
  for (std::size_t lane = 0; lane < width; ++lane) {
    sums[lane] += weight * dot(down.subspan(lane * joined.size(), joined.size()), joined);
  }
}

}  // namespace

void add_gated(std::span<const float> rows, std::span<const float> gates, std::size_t width,
               std::span<float> output) {
  ZLLM_CHECK(rows.size() == gates.size() * width, "add_gated: rows");
  ZLLM_CHECK(output.size() == rows.size(), "add_gated: output");
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double gate = activation::sigmoid(static_cast<double>(gates[i / width]));
    output[i] =
        static_cast<float>(static_cast<double>(output[i]) + gate * static_cast<double>(rows[i]));
  }
}

void apply(const ExpertWeights& weights, const activation::Spec& act, const Routing& routing,
           std::span<const float> input, std::span<float> output) {
  const std::size_t width = weights.width;
  const std::size_t matrix = width * weights.intermediate;
  ZLLM_CHECK(matrix > 0 && weights.gate.size() % matrix == 0, "experts: gate");
  ZLLM_CHECK(weights.up.size() == weights.gate.size(), "experts: up");
  ZLLM_CHECK(weights.down.size() == weights.gate.size(), "experts: down");
  ZLLM_CHECK(input.size() == routing.rows() * width, "experts: input");
  ZLLM_CHECK(output.size() == input.size(), "experts: output");
  const std::size_t experts = weights.gate.size() / matrix;
  const ExpertRows groups = group_by_expert(routing, static_cast<std::uint32_t>(experts));
  const std::vector<double> rows(input.begin(), input.end());
  std::vector<double> sums(output.size(), 0.0);
  for (std::size_t expert = 0; expert < experts; ++expert) {
    for (std::size_t i = groups.begins[expert]; i < groups.begins[expert + 1]; ++i) {
      const std::size_t slot = groups.slots[i];
      const std::size_t begin = slot / routing.top_k * width;
      add_expert(weights, act, expert, static_cast<double>(routing.weights[slot]),
                 std::span(rows).subspan(begin, width), std::span(sums).subspan(begin, width));
    }
  }
  std::transform(sums.begin(), sums.end(), output.begin(),
                 [](double sum) { return static_cast<float>(sum); });
}

ExpertRows group_by_expert(const Routing& routing, std::uint32_t experts) {
  ZLLM_CHECK(routing.weights.size() == routing.experts.size(), "experts: routing");
  ExpertRows groups{.begins = std::vector<std::uint32_t>(std::size_t{experts} + 1, 0),
                    .slots = std::vector<std::uint32_t>(routing.experts.size())};
  for (const std::uint32_t expert : routing.experts) {
    ZLLM_CHECK(expert < experts, "experts: routing to an expert that does not exist");
    ++groups.begins[expert + 1];
  }
  for (std::size_t expert = 0; expert < experts; ++expert) {
    groups.begins[expert + 1] += groups.begins[expert];
  }
  std::vector<std::uint32_t> next(groups.begins.begin(), groups.begins.end() - 1);
  for (std::size_t slot = 0; slot < routing.experts.size(); ++slot) {
    groups.slots[next[routing.experts[slot]]++] = static_cast<std::uint32_t>(slot);
  }
  return groups;
}

}  // namespace zllm::moe
