#pragma once

#include <vector>

#include <zllm/backend/cpu/weight.h>

namespace zllm::backend::cpu {

// The resident matrices of a layer's experts, by their numbers.
struct Experts {
  std::vector<Weight> gate;
  std::vector<Weight> up;
  std::vector<Weight> down;
};

}  // namespace zllm::backend::cpu
