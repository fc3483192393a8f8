#pragma once

#include <vector>

#include <zllm/attention/sparse/selection.h>
#include <zllm/conformance/case.h>
#include <zllm/conformance/deviation.h>
#include <zllm/conformance/matrix.h>
#include <zllm/conformance/sequences.h>

// Inputs of operations over pages, of all tokens of all sequences, and the expected results of the
// measured rows.
namespace zllm::conformance {

struct GqaData {
  Sequences sequences;
  std::vector<float> queries, keys, values;
  std::vector<float> expected;
};
Result<GqaData> gqa_data(const Case& one, const GqaCase& gqa);

struct LatentData {
  Sequences sequences;
  std::vector<float> queries, latents, shared_keys;
  std::vector<Matrix> up;  // the fused matrix, or transposed keys and values
  attention::sparse::Selection selection;
  std::vector<float> expected;
};
Result<LatentData> latent_data(const Case& one, const LatentCase& latent);

// What a row may select: units of `pool` consecutive positions by their scores, then a tail that is
// always kept.
struct SelectionRow {
  std::vector<float> scores;
  std::size_t keep = 0;
  std::uint64_t tail_begin = 0;
  std::uint64_t tail_end = 0;
};

struct SelectionData {
  Sequences sequences;
  std::uint32_t pool = 1;
  bool is_exact = false;  // scores are exact: no unit may take another's place
  std::vector<float> queries, keys, weights, gates, position_bias;
  std::vector<SelectionRow> rows;
};
Result<SelectionData> selection_data(const Case& one, const SelectKeysCase& select);
Result<SelectionData> selection_data(const Case& one, const SelectPoolsCase& select);

// The deviation is that of the scores of units that took another's place. What no rounding explains
// is an error: another number of units, pools in parts, positions out of order.
Result<Deviation> compare(const attention::sparse::Selection& result, const SelectionData& data);

}  // namespace zllm::conformance
