#include <zllm/attention/sparse/finite.h>

#include <cmath>
#include <string>

#include <zllm/base/text.h>

namespace zllm::attention::sparse {

Status check_finite(std::span<const float> row, const RowOf& at) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (std::isfinite(row[i])) {
      continue;
    }
    const std::string head =
        row.size() > at.width ? concat(", head ", i / at.width) : std::string();
    return Error{Code::invalid_argument,
                 concat(at.operand, ": row ", at.row, head, ", lane ", i % at.width,
                        std::isnan(row[i]) ? " is NaN" : " is infinite")};
  }
  return {};
}

}  // namespace zllm::attention::sparse
