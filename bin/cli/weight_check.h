#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::cli {

// A tensor with values that no weight may have.
struct BadTensor {
  std::string name;
  std::uint64_t not_a_number = 0;
  std::uint64_t infinite = 0;
};

// Reads and decodes every weight; integers and other tables are passed over. An error when a file
// shrank meanwhile.
Result<std::vector<BadTensor>> find_bad_weights(const weight::TensorTable& tensors);

}  // namespace zllm::cli
