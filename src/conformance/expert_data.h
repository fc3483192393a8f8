#pragma once

#include <vector>

#include <zllm/backend/capability/moe.h>
#include <zllm/conformance/case.h>
#include <zllm/conformance/matrix.h>

// Inputs and expected results of routers and routed experts.
namespace zllm::conformance {

struct ExpertMatrices {
  std::vector<Matrix> gate, up, down;

  backend::ExpertViews views() const;
};

struct ExpertData {
  moe::RouterSpec router;
  activation::Spec activation;
  ExpertMatrices matrices;
  std::vector<float> logits, bias;   // the bias is empty where the router has none
  std::vector<float> input;          // [rows, columns]
  std::vector<float> before;         // what the output holds; empty = it is replaced
  std::vector<float> shared, gates;  // [rows, columns] and [rows], added at last; or empty
  std::vector<float> expected;
};

// A routing cannot be read, so experts show it: column e of the result is the weight of expert e.
Result<ExpertData> route_data(const Case& one, const RouteCase& route);
Result<ExpertData> experts_data(const Case& one, const ExpertsCase& experts);

}  // namespace zllm::conformance
