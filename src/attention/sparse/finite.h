#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include <zllm/base/result.h>

namespace zllm::attention::sparse {

struct RowOf {
  std::string_view operand;  // as messages name it
  std::size_t row = 0;
  std::size_t width = 0;  // of a head; a row of several heads has them one after the other
};

// An error that names operand, row, head and lane of the first number that is NaN or infinite.
Status check_finite(std::span<const float> row, const RowOf& at);

}  // namespace zllm::attention::sparse
