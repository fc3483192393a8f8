#include <zllm/weight/assembly/indexer.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/limits.h>

namespace zllm::weight {
namespace {

using attention::sparse::IndexerSpec;
using model_spec::IndexerKind;
using Kinds = std::vector<IndexerKind>;

constexpr std::string_view kTypes = "indexer_types";
constexpr std::string_view kPattern = "index_topk_pattern";
constexpr std::string_view kEvery = "index_topk_freq";
constexpr std::string_view kOffset = "index_skip_topk_offset";
constexpr IntegerRange kScheduleRange{0, kLayerRange.maximum};

IndexerSpec spec_of(std::uint64_t heads, std::uint64_t width, std::uint64_t top_k) {
  return {.heads = static_cast<std::uint32_t>(heads),
          .width = static_cast<std::uint32_t>(width),
          .top_k = static_cast<std::uint32_t>(top_k),
          .score_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(width))),
          .weight_scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(heads)))};
}

std::string too_narrow(std::uint64_t width, std::uint32_t rotated) {
  return concat(width, " is less than the ", rotated, " lanes that rope turns");
}

Result<IndexerKind> kind_of(const ConfigReader& config, std::string_view key,
                            std::string_view name) {
  const bool is_pattern = key == kPattern;
  if (name == "full" || (is_pattern && name == "F")) {
    return IndexerKind::full;
  }
  if (name == "shared" || (is_pattern && name == "S")) {
    return IndexerKind::shared;
  }
  return config.error(
      Code::unsupported, key,
      concat(quote(name), " is not supported, only ", is_pattern ? "F and S" : "full and shared"));
}

// The kinds that a list of names, or for a pattern a text of letters, spells out.
Result<std::optional<Kinds>> listed(const ConfigReader& config, std::string_view key,
                                    std::uint32_t layers) {
  if (!config.has(key)) {
    return std::optional<Kinds>();
  }
  std::vector<std::string_view> names;
  if (const std::string *letters = config.at(key).as_string(); key == kPattern && letters) {
    for (std::size_t i = 0; i < letters->size(); ++i) {
      names.push_back(std::string_view(*letters).substr(i, 1));
    }
  } else {
    ZLLM_TRY(const auto strings, config.strings(key));
    names = strings.value_or(names);
  }
  if (names.size() != layers) {
    return config.error(
        Code::invalid_file, key,
        concat("must have one entry for each of ", layers, " layers, found ", names.size()));
  }
  Kinds kinds;
  for (const std::string_view name : names) {
    ZLLM_TRY(const IndexerKind kind, kind_of(config, key, name));
    kinds.push_back(kind);
  }
  return std::optional(std::move(kinds));
}

}  // namespace

Result<IndexerSpec> indexer_from_config(const ConfigReader& config, std::uint32_t rotated) {
  ZLLM_TRY(const auto heads, config.required_integer("index_n_heads", kHeadCountRange));
  ZLLM_TRY(const auto width, config.required_integer("index_head_dim", kHeadWidthRange));
  ZLLM_TRY(const auto top_k, config.required_integer("index_topk", kPositionRange));
  if (width < rotated) {
    return config.error(Code::invalid_file, "index_head_dim", too_narrow(width, rotated));
  }
  return spec_of(heads, width, top_k);
}

Result<IndexerSpec> indexer_from_metadata(const MetadataReader& metadata, std::uint32_t rotated) {
  constexpr std::string_view kWidth = "attention.indexer.key_length";
  ZLLM_TRY(const auto heads,
           metadata.required_integer("attention.indexer.head_count", kHeadCountRange));
  ZLLM_TRY(const auto width, metadata.required_integer(kWidth, kHeadWidthRange));
  ZLLM_TRY(const auto top_k, metadata.required_integer("attention.indexer.top_k", kPositionRange));
  if (width < rotated) {
    return metadata.error(Code::invalid_file, kWidth, too_narrow(width, rotated));
  }
  return spec_of(heads, width, top_k);
}

Kinds scheduled_indexers(std::uint32_t layers, std::uint64_t every, std::uint64_t offset) {
  Kinds kinds;
  for (std::uint64_t layer = 0; layer < layers; ++layer) {
    const std::uint64_t past = layer + 1 > offset ? layer + 1 - offset : 0;
    const bool is_full = past % std::max<std::uint64_t>(every, 1) == 0;
    kinds.push_back(is_full ? IndexerKind::full : IndexerKind::shared);
  }
  return kinds;
}

Result<Kinds> indexer_kinds_from_config(const ConfigReader& config, std::uint32_t layers) {
  ZLLM_TRY(const auto types, listed(config, kTypes, layers));
  ZLLM_TRY(const auto pattern, listed(config, kPattern, layers));
  ZLLM_TRY(const auto every, config.integer_or(kEvery, kScheduleRange, 1));
  ZLLM_TRY(const auto offset, config.integer_or(kOffset, kScheduleRange, 2));
  const Kinds schedule = scheduled_indexers(layers, every, offset);
  if (types && pattern && *types != *pattern) {
    return config.error(Code::invalid_file, kTypes, concat("contradicts ", kPattern));
  }
  if (types && !pattern && config.has(kEvery) && *types != schedule) {
    return config.error(Code::invalid_file, kTypes, concat("contradicts ", kEvery));
  }
  Kinds kinds = types ? *types : pattern.value_or(schedule);
  if (kinds.front() != IndexerKind::full) {
    return config.error(Code::invalid_file,
                        types     ? kTypes
                        : pattern ? kPattern
                                  : kOffset,
                        "makes the first layer share a selection, but there is none before it");
  }
  return kinds;
}

IndexerWeights bind_indexer(WeightBinder& binder, std::string_view prefix,
                            const IndexerNames& names, const IndexerSpec& spec,
                            IndexerWidths widths) {
  const auto name = [&](std::string_view ending) { return concat(prefix, ending); };
  const std::uint64_t lanes = std::uint64_t{spec.heads} * spec.width;
  IndexerWeights weights;
  weights.query = binder.matrix(name(names.query), lanes, widths.query_rank);
  weights.key = binder.matrix(name(names.key), spec.width, widths.hidden);
  weights.key_norm = binder.vector(name(names.key_norm), spec.width);
  weights.key_norm_bias = binder.vector(name(names.key_norm_bias), spec.width);
  weights.weights = binder.matrix(name(names.weights), spec.heads, widths.hidden);
  if (widths.pool != 0) {
    weights.gates = binder.matrix(name(names.gates), spec.width, widths.hidden);
    weights.position_bias =
        binder.flat_vector(name(names.position_bias), std::uint64_t{widths.pool} * spec.width);
  }
  return weights;
}

}  // namespace zllm::weight
