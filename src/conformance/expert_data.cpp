#include <zllm/conformance/expert_data.h>

#include <zllm/activation/reference.h>
#include <zllm/moe/experts.h>
#include <zllm/moe/routing.h>

namespace zllm::conformance {
namespace {

using encoding::Encoding;

std::vector<encoding::WeightView> views_of(const std::vector<Matrix>& matrices) {
  std::vector<encoding::WeightView> views;
  views.reserve(matrices.size());
  for (const Matrix& matrix : matrices) {
    views.push_back(matrix.view());
  }
  return views;
}

std::vector<float> joined(const std::vector<Matrix>& matrices) {
  std::vector<float> values;
  for (const Matrix& matrix : matrices) {
    values.insert(values.end(), matrix.values.begin(), matrix.values.end());
  }
  return values;
}

// The reading of an expert: one hidden lane that is 1, written to the column of its number.
void add_reader(std::size_t expert, std::size_t count, ExpertMatrices& matrices) {
  std::vector<float> first(count);
  first.front() = 1.0F;
  matrices.gate.push_back(plain_matrix(Encoding::f32, count, first));
  matrices.up.push_back(plain_matrix(Encoding::f32, count, first));
  std::vector<float> column(count);
  column[expert] = static_cast<float>(1.0 / activation::swiglu(1.0, 1.0));
  matrices.down.push_back(plain_matrix(Encoding::f32, 1, column));
}

}  // namespace

backend::ExpertViews ExpertMatrices::views() const {
  return {.gate = views_of(gate), .up = views_of(up), .down = views_of(down)};
}

Result<ExpertData> route_data(const Case& one, const RouteCase& route) {
  Source source(one.seed);
  const moe::RouterSpec& spec = route.spec;
  const std::size_t count = spec.experts;
  ExpertData data;
  data.router = spec;
  data.logits =
      route.is_whole ? source.whole(route.rows * count) : source.values(route.rows * count);
  if (spec.has_selection_bias) {
    data.bias = route.is_whole ? source.whole(count) : source.values(count, 0.2F);
  }
  data.input.resize(route.rows * count);
  data.expected.resize(route.rows * count);
  for (std::size_t expert = 0; expert < count; ++expert) {
    add_reader(expert, count, data.matrices);
  }
  ZLLM_TRY(const moe::Routing routing, moe::route(spec, data.logits, data.bias));
  for (std::size_t row = 0; row < route.rows; ++row) {
    data.input[row * count] = 1.0F;
    for (std::size_t i = row * spec.top_k; i < (row + 1) * spec.top_k; ++i) {
      data.expected[row * count + routing.experts[i]] = routing.weights[i];
    }
  }
  return data;
}

Result<ExpertData> experts_data(const Case& one, const ExpertsCase& experts) {
  Source source(one.seed);
  const std::size_t rows = experts.rows;
  ExpertData data;
  data.router = experts.router;
  data.activation = experts.activation;
  data.logits = source.values(rows * experts.router.experts);
  if (experts.router.has_selection_bias) {
    data.bias = source.values(experts.router.experts, 0.2F);
  }
  for (std::uint32_t expert = 0; expert < experts.router.experts; ++expert) {
    data.matrices.gate.push_back(
        random_matrix(source, one.encoding, experts.intermediate, experts.columns));
    data.matrices.up.push_back(
        random_matrix(source, one.encoding, experts.intermediate, experts.columns));
    data.matrices.down.push_back(
        random_matrix(source, one.encoding, experts.columns, experts.intermediate));
  }
  data.input = source.values(rows * experts.columns);
  ZLLM_TRY(const moe::Routing routing, moe::route(data.router, data.logits, data.bias));
  data.expected.resize(data.input.size());
  const auto gate = joined(data.matrices.gate);
  const auto up = joined(data.matrices.up);
  const auto down = joined(data.matrices.down);
  moe::apply({.gate = gate,
              .up = up,
              .down = down,
              .width = experts.columns,
              .intermediate = experts.intermediate},
             data.activation, routing, data.input, data.expected);
  if (experts.accumulates) {
    data.before = source.values(data.input.size());
    for (std::size_t i = 0; i < data.before.size(); ++i) {
      data.expected[i] += data.before[i];
    }
  }
  if (experts.adds_gated) {
    data.shared = source.values(data.input.size());
    data.gates = source.values(rows);
    moe::add_gated(data.shared, data.gates, experts.columns, data.expected);
  }
  return data;
}

}  // namespace zllm::conformance
