#include <zllm/dialect/json_writer.h>

#include <algorithm>
#include <cmath>

namespace zllm::dialect {
namespace {

// What OpenAI's API gives in place of minus infinity, which JSON cannot spell.
constexpr double kLeastLogProbability = -9999.0;

}  // namespace

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) {
    return null();
  }
  std::string spelled = to_text(value);
  if (spelled.find_first_of(".e") == std::string::npos) {
    spelled += ".0";
  }
  return raw(spelled);
}

JsonWriter& JsonWriter::log_probability(double value) {
  return number(std::isnan(value) ? value : std::max(value, kLeastLogProbability));
}

}  // namespace zllm::dialect
