#include <zllm/attention/gqa/reference.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::attention::gqa {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("attention ", field, ": ", reason)};
}

struct HeadAt {
  std::string_view operand;
  std::size_t row = 0;
  std::size_t head = 0;
};

Status finite(std::span<const float> lanes, const HeadAt& at) {
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (!std::isfinite(lanes[lane])) {
      return refused(at.operand, concat("row ", at.row, ", head ", at.head, ", lane ", lane,
                                        std::isnan(lanes[lane]) ? " is NaN" : " is infinite"));
    }
  }
  return {};
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t lane = 0; lane < a.size(); ++lane) {
    sum += static_cast<double>(a[lane]) * static_cast<double>(b[lane]);
  }
  return sum;
}

Status check_sinks(std::span<const float> sinks) {
  for (std::size_t head = 0; head < sinks.size(); ++head) {
    if (std::isnan(sinks[head]) || sinks[head] == std::numeric_limits<float>::infinity()) {
      return refused("sinks", concat("head ", head, " is NaN or infinite"));
    }
  }
  return {};
}

void check_sizes(const Spec& spec, const Inputs& inputs, std::span<const float> output) {
  const std::size_t rows = inputs.query_positions.size();
  const std::size_t key_row = std::size_t{spec.kv_heads} * spec.head;
  const std::size_t count = inputs.keys.size() / key_row;
  const std::size_t value_row = std::size_t{spec.kv_heads} * value_width(spec);
  ZLLM_CHECK(inputs.queries.size() == rows * spec.query_heads * spec.head, "attention: queries");
  ZLLM_CHECK(inputs.keys.size() == count * key_row, "attention: keys");
  ZLLM_CHECK(inputs.values.size() == count * value_row, "attention: values");
  ZLLM_CHECK(inputs.key_positions.empty() || inputs.key_positions.size() == count,
             "attention: key positions");
  ZLLM_CHECK(inputs.sinks.empty() || inputs.sinks.size() == spec.query_heads, "attention: sinks");
  ZLLM_CHECK(output.size() == rows * spec.query_heads * value_width(spec), "attention: output");
}

// One query head of one row against every key.
class HeadAttention {
 public:
  HeadAttention(const Spec& spec, const Inputs& inputs, std::size_t row, std::size_t head)
      : spec_(spec),
        inputs_(inputs),
        row_(row),
        head_(head),
        group_(head / (spec.query_heads / spec.kv_heads)) {}

  Status run(std::span<float> output) {
    const std::size_t start = (row_ * spec_.query_heads + head_) * spec_.head;
    const auto query = inputs_.queries.subspan(start, spec_.head);
    ZLLM_TRY(finite(query, {"queries", row_, head_}));
    ZLLM_TRY(score(query));
    return mix(output);
  }

 private:
  struct Scored {
    std::size_t key = 0;
    double score = 0.0;
  };

  std::span<const float> lanes(std::span<const float> rows, std::size_t key,
                               std::size_t width) const {
    return rows.subspan((key * spec_.kv_heads + group_) * width, width);
  }

  Status score(std::span<const float> query) {
    const std::uint64_t position = inputs_.query_positions[row_];
    const std::size_t count = inputs_.keys.size() / (std::size_t{spec_.kv_heads} * spec_.head);
    for (std::size_t key = 0; key < count; ++key) {
      const std::uint64_t at = inputs_.key_positions.empty() ? key : inputs_.key_positions[key];
      if (!visible(spec_.window, position, at)) {
        continue;
      }
      const auto key_lanes = lanes(inputs_.keys, key, spec_.head);
      ZLLM_TRY(finite(key_lanes, {"keys", key, group_}));
      double score = static_cast<double>(spec_.scale) * dot(query, key_lanes);
      if (spec_.softcap > 0.0f) {
        const auto cap = static_cast<double>(spec_.softcap);
        score = cap * std::tanh(score / cap);
      }
      scored_.push_back({key, score});
    }
    return {};
  }

  Status mix(std::span<float> output) const {
    std::vector<double> sums(output.size(), 0.0);
    if (scored_.empty()) {
      std::fill(output.begin(), output.end(), 0.0f);
      return {};
    }
    const double sink = inputs_.sinks.empty() ? -std::numeric_limits<double>::infinity()
                                              : static_cast<double>(inputs_.sinks[head_]);
    double highest = sink;
    for (const Scored& scored : scored_) {
      highest = std::max(highest, scored.score);
    }
    double total = std::exp(sink - highest);
    for (const Scored& scored : scored_) {
      const auto value = lanes(inputs_.values, scored.key, output.size());
      ZLLM_TRY(finite(value, {"values", scored.key, group_}));
      const double weight = std::exp(scored.score - highest);
      total += weight;
      for (std::size_t lane = 0; lane < value.size(); ++lane) {
        sums[lane] += weight * static_cast<double>(value[lane]);
      }
    }
    for (std::size_t lane = 0; lane < output.size(); ++lane) {
      output[lane] = static_cast<float>(sums[lane] / total);
    }
    return {};
  }

  const Spec& spec_;
  const Inputs& inputs_;
  std::size_t row_;
  std::size_t head_;
  std::size_t group_;
  std::vector<Scored> scored_;
};

}  // namespace

Status validate(const Spec& spec) {
  if (spec.kv_heads == 0 || spec.query_heads == 0 || spec.query_heads % spec.kv_heads != 0) {
    return refused("heads", concat(spec.query_heads, " query heads are no multiple of ",
                                   spec.kv_heads, " key and value heads"));
  }
  if (spec.head == 0) {
    return refused("head", "must be above 0");
  }
  if (!std::isfinite(spec.scale)) {
    return refused("scale", "must be finite");
  }
  if (!std::isfinite(spec.softcap) || spec.softcap < 0.0f) {
    return refused("softcap", "must be finite and at least 0");
  }
  return {};
}

Status attend(const Spec& spec, const Inputs& inputs, std::span<float> output) {
  ZLLM_TRY(validate(spec));
  check_sizes(spec, inputs, output);
  ZLLM_TRY(check_sinks(inputs.sinks));
  const std::size_t width = value_width(spec);
  for (std::size_t row = 0; row < inputs.query_positions.size(); ++row) {
    for (std::size_t head = 0; head < spec.query_heads; ++head) {
      HeadAttention attention(spec, inputs, row, head);
      ZLLM_TRY(attention.run(output.subspan((row * spec.query_heads + head) * width, width)));
    }
  }
  return {};
}

}  // namespace zllm::attention::gqa
