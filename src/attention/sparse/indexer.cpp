#include <zllm/attention/sparse/indexer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>

#include <zllm/attention/sparse/finite.h>
#include <zllm/base/text.h>

namespace zllm::attention::sparse {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("indexer ", field, ": ", reason)};
}

std::size_t key_count(const IndexerSpec& spec, const IndexerInputs& inputs) {
  return inputs.keys.size() / spec.width;
}

std::size_t visible_keys(std::uint64_t position, std::size_t count) {
  return position >= count ? count : static_cast<std::size_t>(position) + 1;
}

void check_sizes(const IndexerSpec& spec, const IndexerInputs& inputs) {
  const std::size_t rows = inputs.query_positions.size();
  ZLLM_CHECK(inputs.queries.size() == rows * spec.heads * spec.width, "indexer: queries");
  ZLLM_CHECK(inputs.weights.size() == rows * spec.heads, "indexer: weights");
  const std::size_t count = key_count(spec, inputs);
  ZLLM_CHECK(inputs.keys.size() == count * spec.width, "indexer: keys");
  // positions of a Selection are 32 bits wide
  ZLLM_CHECK(count <= std::numeric_limits<std::uint32_t>::max(), "indexer: too many keys");
}

Status check_numbers(const IndexerSpec& spec, const IndexerInputs& inputs) {
  const std::size_t query = std::size_t{spec.heads} * spec.width;
  std::size_t seen = 0;
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    ZLLM_TRY(check_finite(inputs.queries.subspan(row * query, query),
                          {"indexer queries", row, spec.width}));
    ZLLM_TRY(check_finite(inputs.weights.subspan(row * spec.heads, spec.heads),
                          {"indexer weights", row, 1}));
    seen = std::max(seen, visible_keys(inputs.query_positions[row], key_count(spec, inputs)));
  }
  for (std::size_t key = 0; key < seen; ++key) {
    ZLLM_TRY(check_finite(inputs.keys.subspan(key * spec.width, spec.width),
                          {"indexer keys", key, spec.width}));
  }
  return {};
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t lane = 0; lane < a.size(); ++lane) {
    sum += static_cast<double>(a[lane]) * static_cast<double>(b[lane]);
  }
  return sum;
}

float score(const IndexerSpec& spec, const IndexerInputs& inputs, std::size_t row,
            std::size_t key) {
  const auto lanes = inputs.keys.subspan(key * spec.width, spec.width);
  double sum = 0.0;
  for (std::size_t head = 0; head < spec.heads; ++head) {
    const std::size_t at = row * spec.heads + head;
    const double product = dot(inputs.queries.subspan(at * spec.width, spec.width), lanes);
    const double weight =
        static_cast<double>(spec.weight_scale) * static_cast<double>(inputs.weights[at]);
    sum += weight * std::max(static_cast<double>(spec.score_scale) * product, 0.0);
  }
  return static_cast<float>(sum);
}

// The scores of the keys that the row sees.
void score_row(const IndexerSpec& spec, const IndexerInputs& inputs, std::size_t row,
               std::span<float> scores) {
  for (std::size_t key = 0; key < scores.size(); ++key) {
    scores[key] = score(spec, inputs, row, key);
  }
}

}  // namespace

Status validate(const IndexerSpec& spec) {
  if (spec.heads == 0) {
    return refused("heads", "must be above 0");
  }
  if (spec.width == 0) {
    return refused("width", "must be above 0");
  }
  if (spec.top_k == 0) {
    return refused("top_k", "must be above 0");
  }
  if (!std::isfinite(spec.score_scale)) {
    return refused("score_scale", "must be finite");
  }
  if (!std::isfinite(spec.weight_scale)) {
    return refused("weight_scale", "must be finite");
  }
  return {};
}

Status index_scores(const IndexerSpec& spec, const IndexerInputs& inputs, std::span<float> scores) {
  ZLLM_TRY(validate(spec));
  check_sizes(spec, inputs);
  const std::size_t count = key_count(spec, inputs);
  ZLLM_CHECK(scores.size() == inputs.query_positions.size() * count, "indexer: scores");
  ZLLM_TRY(check_numbers(spec, inputs));
  std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    const std::size_t visible = visible_keys(inputs.query_positions[row], count);
    score_row(spec, inputs, row, scores.subspan(row * count, visible));
  }
  return {};
}

std::vector<std::uint32_t> top_indices(std::span<const float> scores, std::size_t count) {
  ZLLM_CHECK(std::none_of(scores.begin(), scores.end(), [](float s) { return std::isnan(s); }),
             "indexer: a score is NaN");
  std::vector<std::uint32_t> indices(scores.size());
  std::iota(indices.begin(), indices.end(), std::uint32_t{0});
  if (count < indices.size()) {
    const auto better = [scores](std::uint32_t a, std::uint32_t b) {
      return scores[a] > scores[b] || (scores[a] == scores[b] && a < b);
    };
    const auto end = indices.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(indices.begin(), end, indices.end(), better);
    indices.erase(end, indices.end());
    std::sort(indices.begin(), indices.end());
  }
  return indices;
}

Result<Selection> select_keys(const IndexerSpec& spec, const IndexerInputs& inputs) {
  ZLLM_TRY(validate(spec));
  check_sizes(spec, inputs);
  ZLLM_TRY(check_numbers(spec, inputs));
  Selection selection;
  std::vector<float> scores(key_count(spec, inputs));
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    const auto seen =
        std::span(scores).first(visible_keys(inputs.query_positions[row], scores.size()));
    score_row(spec, inputs, row, seen);
    selection.append_row(top_indices(seen, spec.top_k));
  }
  return selection;
}

}  // namespace zllm::attention::sparse
