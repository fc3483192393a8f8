#include <zllm/attention/sparse/kpool.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <zllm/attention/sparse/finite.h>
#include <zllm/attention/sparse/indexer.h>
#include <zllm/base/text.h>

namespace zllm::attention::sparse {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("kpool ", field, ": ", reason)};
}

void check_sizes(const KpoolSpec& spec, const KpoolInputs& inputs) {
  const std::size_t rows = inputs.query_positions.size();
  const std::size_t heads = spec.indexer.heads;
  const std::size_t width = spec.indexer.width;
  ZLLM_CHECK(inputs.queries.size() == rows * heads * width, "kpool: queries");
  ZLLM_CHECK(inputs.weights.size() == rows * heads, "kpool: weights");
  ZLLM_CHECK(inputs.keys.size() % width == 0, "kpool: keys");
  ZLLM_CHECK(inputs.gates.size() == inputs.keys.size(), "kpool: gates");
  ZLLM_CHECK(inputs.position_bias.size() == spec.pool * width, "kpool: position bias");
  // positions of a Selection are 32 bits wide
  ZLLM_CHECK(inputs.keys.size() / width <= std::numeric_limits<std::uint32_t>::max(),
             "kpool: too many keys");
}

// The number of pools that some row sees. A row past the keys would see pools without members.
Result<std::size_t> seen_pools(const KpoolSpec& spec, const KpoolInputs& inputs) {
  const std::size_t count = inputs.keys.size() / spec.indexer.width;
  std::size_t seen = 0;
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    const std::uint64_t position = inputs.query_positions[row];
    if (position >= count) {
      return refused("query positions",
                     concat("row ", row, " at ", position, " is past the ", count, " keys"));
    }
    seen = std::max(seen, static_cast<std::size_t>(visible_pools(spec, position)));
  }
  return seen;
}

Status check_numbers(const KpoolSpec& spec, const KpoolInputs& inputs, std::size_t pools) {
  const std::size_t width = spec.indexer.width;
  const std::size_t query = spec.indexer.heads * width;
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    ZLLM_TRY(
        check_finite(inputs.queries.subspan(row * query, query), {"kpool queries", row, width}));
    ZLLM_TRY(check_finite(inputs.weights.subspan(row * spec.indexer.heads, spec.indexer.heads),
                          {"kpool weights", row, 1}));
  }
  for (std::size_t key = 0; key < pools * spec.pool; ++key) {
    ZLLM_TRY(check_finite(inputs.keys.subspan(key * width, width), {"kpool keys", key, width}));
    ZLLM_TRY(check_finite(inputs.gates.subspan(key * width, width), {"kpool gates", key, width}));
  }
  for (std::size_t member = 0; member < spec.pool; ++member) {
    ZLLM_TRY(check_finite(inputs.position_bias.subspan(member * width, width),
                          {"kpool position bias", member, width}));
  }
  return {};
}

std::vector<float> pooled_keys(const KpoolSpec& spec, const KpoolInputs& inputs,
                               std::size_t pools) {
  const std::size_t width = spec.indexer.width;
  const std::size_t members = spec.pool * width;
  std::vector<float> pooled(pools * width);
  for (std::size_t pool = 0; pool < pools; ++pool) {
    pool_key(spec, inputs.keys.subspan(pool * members, members),
             inputs.gates.subspan(pool * members, members), inputs.position_bias,
             std::span(pooled).subspan(pool * width, width));
  }
  return pooled;
}

// The best pools of one row, ascending.
Result<std::vector<std::uint32_t>> best_pools(const KpoolSpec& spec, const KpoolInputs& inputs,
                                              std::span<const float> pooled, std::size_t row) {
  const auto pools = visible_pools(spec, inputs.query_positions[row]);
  if (pools == 0) {
    return std::vector<std::uint32_t>();
  }
  const std::size_t heads = spec.indexer.heads;
  const std::size_t width = spec.indexer.width;
  const std::uint64_t last = pools - 1;
  std::vector<float> scores(static_cast<std::size_t>(pools));
  ZLLM_TRY(index_scores(spec.indexer,
                        {.queries = inputs.queries.subspan(row * heads * width, heads * width),
                         .weights = inputs.weights.subspan(row * heads, heads),
                         .query_positions = std::span(&last, 1),
                         .keys = pooled.first(scores.size() * width)},
                        scores));
  return top_indices(scores, spec.indexer.top_k / spec.pool);
}

}  // namespace

Status validate(const KpoolSpec& spec) {
  ZLLM_TRY(validate(spec.indexer));
  if (spec.pool == 0) {
    return refused("pool", "must be above 0");
  }
  if (spec.pool > spec.indexer.top_k) {
    return refused("pool",
                   concat(spec.pool, " positions are more than the top_k of ", spec.indexer.top_k));
  }
  return {};
}

void pool_key(const KpoolSpec& spec, std::span<const float> keys, std::span<const float> gates,
              std::span<const float> position_bias, std::span<float> pooled) {
  const std::size_t width = spec.indexer.width;
  const std::size_t size = spec.pool * width;
  ZLLM_CHECK(keys.size() == size && gates.size() == size && position_bias.size() == size &&
                 pooled.size() == width,
             "kpool: sizes of a pool");
  for (std::size_t channel = 0; channel < width; ++channel) {
    const auto logit = [&](std::size_t at) {
      return static_cast<double>(gates[at]) + static_cast<double>(position_bias[at]);
    };
    double highest = logit(channel);
    for (std::size_t at = channel; at < size; at += width) {
      highest = std::max(highest, logit(at));
    }
    double total = 0.0;
    double sum = 0.0;
    for (std::size_t at = channel; at < size; at += width) {
      const double weight = std::exp(logit(at) - highest);
      total += weight;
      sum += weight * static_cast<double>(keys[at]);
    }
    pooled[channel] = static_cast<float>(sum / total);
  }
}

Result<Selection> select_pools(const KpoolSpec& spec, const KpoolInputs& inputs) {
  ZLLM_TRY(validate(spec));
  check_sizes(spec, inputs);
  ZLLM_TRY(const std::size_t pools, seen_pools(spec, inputs));
  ZLLM_TRY(check_numbers(spec, inputs, pools));
  const std::vector<float> pooled = pooled_keys(spec, inputs, pools);
  Selection selection;
  std::vector<std::uint32_t> positions;
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    positions.clear();
    ZLLM_TRY(const auto best, best_pools(spec, inputs, pooled, row));
    for (const std::uint32_t pool : best) {
      for (std::uint32_t member = 0; member < spec.pool; ++member) {
        positions.push_back(pool * spec.pool + member);
      }
    }
    const std::uint64_t query = inputs.query_positions[row];
    if (spec.select_tail) {
      for (std::uint64_t at = visible_pools(spec, query) * spec.pool; at <= query; ++at) {
        positions.push_back(static_cast<std::uint32_t>(at));
      }
    }
    selection.append_row(positions);
  }
  return selection;
}

}  // namespace zllm::attention::sparse
