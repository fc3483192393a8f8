#include <algorithm>
#include <cmath>

#include <zllm/attention/sparse/indexer.h>
#include <zllm/attention/sparse/kpool.h>
#include <zllm/base/text.h>
#include <zllm/conformance/attention_data.h>

namespace zllm::conformance {
namespace {

using attention::sparse::IndexerSpec;
using attention::sparse::KpoolSpec;
using attention::sparse::Selection;

// Keys of complete pools, or the keys themselves, as the cache keeps them.
std::vector<float> unit_keys(const SelectionData& data, const KpoolSpec& spec, std::size_t sequence,
                             backend::KvType type) {
  const auto keys = data.sequences.of(data.keys, sequence);
  if (data.gates.empty()) {
    return stored(keys, type);
  }
  const auto gates = data.sequences.of(data.gates, sequence);
  const std::size_t members = std::size_t{spec.pool} * spec.indexer.width;
  std::vector<float> pooled(keys.size() / members * spec.indexer.width);
  for (std::size_t i = 0; i * spec.indexer.width < pooled.size(); ++i) {
    attention::sparse::pool_key(
        spec, keys.subspan(i * members, members), gates.subspan(i * members, members),
        data.position_bias, std::span(pooled).subspan(i * spec.indexer.width, spec.indexer.width));
  }
  return stored(pooled, type);
}

Status add_rows(SelectionData& data, const KpoolSpec& spec, const RoundPart& part,
                std::span<const float> keys) {
  const IndexerSpec& indexer = spec.indexer;
  const auto queries = data.sequences.of(data.queries, {part});
  const auto weights = data.sequences.of(data.weights, {part});
  const std::size_t width = std::size_t{indexer.heads} * indexer.width;
  for (std::size_t i = 0; i < part.rows; ++i) {
    const std::uint64_t position = part.position + i;
    const std::uint64_t units = (position + 1) / spec.pool;
    SelectionRow& row = data.rows.emplace_back();
    row.scores.resize(units);
    row.keep = std::min<std::size_t>(indexer.top_k / spec.pool, units);
    row.tail_begin = units * spec.pool;
    row.tail_end = spec.select_tail ? position + 1 : row.tail_begin;
    if (units == 0) {
      continue;
    }
    const std::uint64_t last = units - 1;
    ZLLM_TRY(attention::sparse::index_scores(
        indexer,
        {.queries = std::span(queries).subspan(i * width, width),
         .weights = std::span(weights).subspan(i * indexer.heads, indexer.heads),
         .query_positions = {&last, 1},
         .keys = keys.first(units * indexer.width)},
        row.scores));
  }
  return {};
}

Result<SelectionData> selection_data(const Case& one, const KpoolSpec& spec,
                                     const std::vector<Segment>& segments, bool is_pooled,
                                     bool is_whole) {
  Source source(one.seed);
  SelectionData data{.sequences = Sequences(segments),
                     .pool = spec.pool,
                     .is_exact = is_whole,
                     .queries = {},
                     .keys = {},
                     .weights = {},
                     .gates = {},
                     .position_bias = {},
                     .rows = {}};
  const std::size_t tokens = data.sequences.tokens();
  const auto draw = [&](std::size_t columns) {
    return is_whole ? source.whole(tokens * columns) : source.values(tokens * columns);
  };
  data.queries = draw(std::size_t{spec.indexer.heads} * spec.indexer.width);
  data.keys = draw(spec.indexer.width);
  data.weights = draw(spec.indexer.heads);
  if (is_pooled) {
    data.gates = draw(spec.indexer.width);
    data.position_bias = source.values(std::size_t{spec.pool} * spec.indexer.width);
  }
  for (const RoundPart& part : data.sequences.measured()) {
    ZLLM_TRY(
        add_rows(data, spec, part, unit_keys(data, spec, part.sequence, kv_type(one.encoding))));
  }
  return data;
}

double root_mean_square(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}

// The units of a row's positions, or nothing where these are no ascending whole units and the tail.
std::optional<std::vector<std::uint32_t>> units_of(std::span<const std::uint32_t> positions,
                                                   const SelectionRow& row, std::uint32_t pool) {
  std::vector<std::uint32_t> units;
  std::size_t at = 0;
  for (; at < positions.size() && positions[at] < row.tail_begin; ++at) {
    if (at % pool == 0) {
      units.push_back(positions[at] / pool);
    }
    const std::uint32_t wanted = units.back() * pool + static_cast<std::uint32_t>(at % pool);
    if (positions[at] != wanted || (units.size() > 1 && units.end()[-2] >= units.back())) {
      return std::nullopt;
    }
  }
  bool is_whole = at % pool == 0 && positions.size() - at == row.tail_end - row.tail_begin;
  for (std::size_t i = 0; is_whole && at + i < positions.size(); ++i) {
    is_whole = positions[at + i] == row.tail_begin + i;
  }
  return is_whole ? std::optional(std::move(units)) : std::nullopt;
}

// Of the scores of units that are in one of both lists, from the lowest that is kept.
Deviation deviation(const SelectionRow& row, std::span<const std::uint32_t> units,
                    std::span<const std::uint32_t> expected) {
  std::vector<std::uint32_t> others;
  std::ranges::set_symmetric_difference(units, expected, std::back_inserter(others));
  if (others.empty()) {
    return {};
  }
  float lowest = row.scores[expected.front()];
  for (const std::uint32_t unit : expected) {
    lowest = std::min(lowest, row.scores[unit]);
  }
  const double scale = root_mean_square(row.scores);
  Deviation worst;
  for (const std::uint32_t unit : others) {
    const double error =
        std::abs(static_cast<double>(row.scores[unit]) - static_cast<double>(lowest)) / scale;
    worst.maximum = std::max(worst.maximum, error);
    worst.nmse += error * error / static_cast<double>(expected.size());
  }
  return worst;
}

}  // namespace

Result<SelectionData> selection_data(const Case& one, const SelectKeysCase& select) {
  return selection_data(one, KpoolSpec{.indexer = select.spec, .select_tail = false},
                        select.segments, false, select.is_whole);
}

Result<SelectionData> selection_data(const Case& one, const SelectPoolsCase& select) {
  return selection_data(one, select.spec, select.segments, true, false);
}

Result<Deviation> compare(const Selection& result, const SelectionData& data) {
  if (result.rows() != data.rows.size()) {
    return Error{Code::internal, concat(result.rows(), " rows, expected ", data.rows.size())};
  }
  Deviation worst;
  for (std::size_t i = 0; i < data.rows.size(); ++i) {
    const SelectionRow& row = data.rows[i];
    const auto units = units_of(result.row(i), row, data.pool);
    if (!units || units->size() != row.keep) {
      return Error{Code::internal, concat("row ", i, " selects no ", row.keep,
                                          " ascending pools of ", data.pool, " and the tail")};
    }
    const auto expected = attention::sparse::top_indices(row.scores, row.keep);
    if (data.is_exact && *units != expected) {
      return Error{Code::internal, concat("row ", i, " selects others than its best positions")};
    }
    worst.include(deviation(row, *units, expected));
  }
  return worst;
}

}  // namespace zllm::conformance
