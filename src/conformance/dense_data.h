#pragma once

#include <vector>

#include <zllm/base/strong.h>
#include <zllm/conformance/case.h>
#include <zllm/conformance/matrix.h>

// Inputs and expected results of operations without state.
namespace zllm::conformance {

struct EmbedData {
  Matrix table;
  std::vector<TokenId> tokens;
  std::vector<float> expected;
};
EmbedData embed_data(const Case& one, const EmbedCase& embed);

struct LinearData {
  Matrix weight;
  std::vector<float> input;
  std::vector<float> bias;    // or empty
  std::vector<float> before;  // what the output tensor holds, NaN where it must be written
  std::vector<float> expected;
  std::size_t width = 0;  // of the output tensor
};
LinearData linear_data(const Case& one, const LinearCase& linear);

struct NormData {
  std::vector<float> rows, weight, bias, gate;  // those that the flavour has
  std::vector<float> expected;
};
NormData norm_data(const Case& one, const NormCase& norm);

struct RotateData {
  std::vector<float> heads, cosines, sines;
  std::vector<float> expected;
};
RotateData rotate_data(const Case& one, const RotateCase& rotate);

struct ActivationData {
  std::vector<float> gate, up;
  std::vector<float> expected;
};
ActivationData activation_data(const Case& one, const ActivationCase& activation);

}  // namespace zllm::conformance
