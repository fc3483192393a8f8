#pragma once

#include <vector>

#include <zllm/conformance/case.h>
#include <zllm/conformance/matrix.h>
#include <zllm/conformance/sequences.h>

// Inputs and expected results of recurrent layers and residual streams.
namespace zllm::conformance {

struct DeltaRuleData {
  Sequences sequences;
  std::vector<float> taps;  // of queries, keys and values, one behind the other
  std::vector<float> rates, decay_bias;
  std::vector<float> mixed, decay, beta;  // of all tokens
  std::vector<float> expected;            // of the measured rows
};
Result<DeltaRuleData> delta_rule_data(const Case& one, const DeltaRuleCase& delta);

struct HyperConnectionData {
  Matrix mixing;
  std::vector<float> base, scale;
  std::vector<float> streams, sublayer;
  // Of split, merge, expand (of the sublayer's rows) and collapse (of the streams).
  std::vector<float> input, row_mixing, merged, expanded, collapsed;
};
HyperConnectionData hyper_connection_data(const Case& one, const HyperConnectionCase& streams);

}  // namespace zllm::conformance
