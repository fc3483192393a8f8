#include <zllm/attention/mla/reference.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/text.h>

namespace zllm::attention::mla {
namespace {

Error refused(std::string_view field, std::string_view reason) {
  return {Code::invalid_argument, concat("latent attention ", field, ": ", reason)};
}

// `outer` and `inner` name the two outer dimensions of an operand of three.
struct LanesAt {
  std::string_view operand;
  std::string_view outer;
  std::size_t outer_index = 0;
  std::string_view inner = {};
  std::size_t inner_index = 0;
};

Status finite(std::span<const float> lanes, const LanesAt& at) {
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    if (!std::isfinite(lanes[lane])) {
      const std::string inner =
          at.inner.empty() ? std::string() : concat(", ", at.inner, " ", at.inner_index);
      return refused(at.operand, concat(at.outer, " ", at.outer_index, inner, ", lane ", lane,
                                        std::isnan(lanes[lane]) ? " is NaN" : " is infinite"));
    }
  }
  return {};
}

template <class A>
double dot(std::span<const A> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t lane = 0; lane < a.size(); ++lane) {
    sum += static_cast<double>(a[lane]) * static_cast<double>(b[lane]);
  }
  return sum;
}

template <class B>
void add_scaled(std::span<double> sums, double weight, std::span<const B> lanes) {
  for (std::size_t lane = 0; lane < sums.size(); ++lane) {
    sums[lane] += weight * static_cast<double>(lanes[lane]);
  }
}

// Scores to weights that sum to 1.
void softmax(std::span<double> scores) {
  if (scores.empty()) {
    return;
  }
  const double highest = *std::max_element(scores.begin(), scores.end());
  double total = 0.0;
  for (double& score : scores) {
    score = std::exp(score - highest);
    total += score;
  }
  for (double& score : scores) {
    score /= total;
  }
}

// Operands by row and head.
class Layer {
 public:
  Layer(const Spec& spec, const Inputs& inputs) : spec_(spec), inputs_(inputs) {}

  std::size_t rows() const { return inputs_.query_positions.size(); }
  std::size_t count() const { return inputs_.latents.size() / spec_.latent; }
  std::size_t query_width() const { return std::size_t{spec_.nope} + spec_.rope; }
  std::size_t up_rows() const { return std::size_t{spec_.nope} + spec_.value; }

  std::span<const float> query(std::size_t row, std::size_t head) const {
    return inputs_.queries.subspan((row * spec_.heads + head) * query_width(), query_width());
  }
  std::span<const float> query_nope(std::size_t row, std::size_t head) const {
    return query(row, head).first(spec_.nope);
  }
  std::span<const float> latent(std::size_t key) const {
    return inputs_.latents.subspan(key * spec_.latent, spec_.latent);
  }
  std::span<const float> shared_key(std::size_t key) const {
    return inputs_.shared_keys.subspan(key * spec_.rope, spec_.rope);
  }
  // Row of A_h, then of B_h, of the head.
  std::span<const float> up(std::size_t head, std::size_t row) const {
    return inputs_.up.subspan((head * up_rows() + row) * spec_.latent, spec_.latent);
  }

  // The keys that the row sees, ascending.
  std::vector<std::size_t> keys(std::size_t row) const {
    if (inputs_.selection != nullptr) {
      const auto positions = inputs_.selection->row(row);
      return {positions.begin(), positions.end()};
    }
    std::vector<std::size_t> all;
    for (std::size_t key = 0; key < count() && key <= inputs_.query_positions[row]; ++key) {
      all.push_back(key);
    }
    return all;
  }

  // The part of the score that has no latent in it, not yet scaled.
  double rope_product(std::size_t row, std::size_t head, std::size_t key) const {
    return dot(query(row, head).subspan(spec_.nope), shared_key(key));
  }

  // Refuses what is out of range; returns which keys some row sees.
  Result<std::vector<bool>> check(std::span<const float> output) const {
    check_sizes(output);
    ZLLM_TRY(check_selection());
    std::vector<bool> seen(count(), false);
    for (std::size_t row = 0; row < rows(); ++row) {
      for (const std::size_t key : keys(row)) {
        seen[key] = true;
      }
    }
    ZLLM_TRY(check_numbers(seen));
    return seen;
  }

 private:
  void check_sizes(std::span<const float> output) const {
    ZLLM_CHECK(inputs_.queries.size() == rows() * spec_.heads * query_width(),
               "latent attention: queries");
    ZLLM_CHECK(inputs_.latents.size() == count() * spec_.latent, "latent attention: latents");
    ZLLM_CHECK(inputs_.shared_keys.size() == count() * spec_.rope, "latent attention: shared keys");
    ZLLM_CHECK(inputs_.up.size() == spec_.heads * up_rows() * spec_.latent, "latent attention: up");
    ZLLM_CHECK(output.size() == rows() * spec_.heads * spec_.value, "latent attention: output");
  }

  Status check_selection() const {
    if (inputs_.selection == nullptr) {
      return {};
    }
    ZLLM_TRY(check_visible(*inputs_.selection, inputs_.query_positions));
    for (std::size_t row = 0; row < rows(); ++row) {
      const auto positions = inputs_.selection->row(row);
      if (!positions.empty() && positions.back() >= count()) {
        return refused("selection", concat("row ", row, ": position ", positions.back(),
                                           " is past the ", count(), " keys"));
      }
    }
    return {};
  }

  Status check_numbers(const std::vector<bool>& seen) const {
    for (std::size_t row = 0; row < rows(); ++row) {
      for (std::size_t head = 0; head < spec_.heads; ++head) {
        ZLLM_TRY(finite(query(row, head), {"queries", "row", row, "head", head}));
      }
    }
    for (std::size_t key = 0; key < count(); ++key) {
      if (seen[key]) {
        ZLLM_TRY(finite(latent(key), {"latents", "row", key}));
        ZLLM_TRY(finite(shared_key(key), {"shared keys", "row", key}));
      }
    }
    for (std::size_t head = 0; head < spec_.heads; ++head) {
      for (std::size_t row = 0; row < up_rows(); ++row) {
        ZLLM_TRY(finite(up(head, row), {"up", "head", head, "row", row}));
      }
    }
    return {};
  }

  const Spec& spec_;
  const Inputs& inputs_;
};

// Rows [begin, begin + width) of the head's matrix times the latent of every seen key:
// [count, width].
std::vector<double> expand(const Layer& layer, const std::vector<bool>& seen, std::size_t head,
                           std::size_t begin, std::size_t width) {
  std::vector<double> expanded(seen.size() * width, 0.0);
  for (std::size_t key = 0; key < seen.size(); ++key) {
    for (std::size_t lane = 0; seen[key] && lane < width; ++lane) {
      expanded[key * width + lane] = dot(layer.latent(key), layer.up(head, begin + lane));
    }
  }
  return expanded;
}

void round_to(std::span<const double> sums, std::span<float> output) {
  for (std::size_t lane = 0; lane < output.size(); ++lane) {
    output[lane] = static_cast<float>(sums[lane]);
  }
}

}  // namespace

Status validate(const Spec& spec) {
  if (spec.heads == 0) {
    return refused("heads", "must be above 0");
  }
  if (spec.latent == 0) {
    return refused("latent", "must be above 0");
  }
  if (spec.nope == 0) {
    return refused("nope", "must be above 0");
  }
  if (spec.value == 0) {
    return refused("value", "must be above 0");
  }
  if (!std::isfinite(spec.scale)) {
    return refused("scale", "must be finite");
  }
  return {};
}

Status attend_expanded(const Spec& spec, const Inputs& inputs, std::span<float> output) {
  ZLLM_TRY(validate(spec));
  const Layer layer(spec, inputs);
  ZLLM_TRY(const std::vector<bool> seen, layer.check(output));
  for (std::size_t head = 0; head < spec.heads; ++head) {
    const std::vector<double> keys = expand(layer, seen, head, 0, spec.nope);
    const std::vector<double> values = expand(layer, seen, head, spec.nope, spec.value);
    for (std::size_t row = 0; row < layer.rows(); ++row) {
      const auto visible = layer.keys(row);
      std::vector<double> weights;
      for (const std::size_t key : visible) {
        const auto lanes = std::span(keys).subspan(key * spec.nope, spec.nope);
        weights.push_back(
            static_cast<double>(spec.scale) *
            (dot(lanes, layer.query_nope(row, head)) + layer.rope_product(row, head, key)));
      }
      softmax(weights);
      std::vector<double> sums(spec.value, 0.0);
      for (std::size_t i = 0; i < visible.size(); ++i) {
        add_scaled(std::span(sums), weights[i],
                   std::span(values).subspan(visible[i] * spec.value, spec.value));
      }
      round_to(sums, output.subspan((row * spec.heads + head) * spec.value, spec.value));
    }
  }
  return {};
}

Status attend_absorbed(const Spec& spec, const Inputs& inputs, std::span<float> output) {
  ZLLM_TRY(validate(spec));
  const Layer layer(spec, inputs);
  ZLLM_TRY(layer.check(output));
  for (std::size_t row = 0; row < layer.rows(); ++row) {
    const auto visible = layer.keys(row);
    for (std::size_t head = 0; head < spec.heads; ++head) {
      const auto query = layer.query_nope(row, head);
      std::vector<double> absorbed(spec.latent, 0.0);
      for (std::size_t lane = 0; lane < query.size(); ++lane) {
        add_scaled(std::span(absorbed), static_cast<double>(query[lane]), layer.up(head, lane));
      }
      std::vector<double> weights;
      weights.reserve(visible.size());
      for (const std::size_t key : visible) {
        weights.push_back(static_cast<double>(spec.scale) *
                          (dot(std::span<const double>(absorbed), layer.latent(key)) +
                           layer.rope_product(row, head, key)));
      }
      softmax(weights);
      std::vector<double> mixed(spec.latent, 0.0);
      for (std::size_t i = 0; i < visible.size(); ++i) {
        add_scaled(std::span(mixed), weights[i], layer.latent(visible[i]));
      }
      const auto out = output.subspan((row * spec.heads + head) * spec.value, spec.value);
      for (std::size_t lane = 0; lane < out.size(); ++lane) {
        out[lane] = static_cast<float>(
            dot(std::span<const double>(mixed), layer.up(head, spec.nope + lane)));
      }
    }
  }
  return {};
}

}  // namespace zllm::attention::mla
