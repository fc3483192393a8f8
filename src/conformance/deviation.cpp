#include <zllm/conformance/deviation.h>

#include <algorithm>
#include <cmath>

#include <zllm/base/check.h>
#include <zllm/base/text.h>

namespace zllm::conformance {
namespace {

using backend::Op;

// f32 sums in another order than the reference's.
constexpr Bound kFloat = {.nmse = 1e-11, .maximum = 3e-5};
// Whatever looks values up or decodes them has at most the rounding of one operation.
constexpr Bound kLookUp = {.nmse = 1e-13, .maximum = 1e-6};
// Activations may be rounded to 8 bits where the weights have few bits themselves.
constexpr Bound kQuantized = {.nmse = 2e-4, .maximum = 0.1};
// Products whose input is a product: gate, up and down.
constexpr Bound kQuantizedTwice = {.nmse = 1e-3, .maximum = 0.25};

bool is_quantized(encoding::Encoding encoding) {
  return encoding::info(encoding).block_elements > 1;
}

}  // namespace

void Deviation::include(const Deviation& other) {
  nmse = std::max(nmse, other.nmse);
  maximum = std::max(maximum, other.maximum);
}

bool Bound::holds(const Deviation& deviation) const {
  return deviation.nmse <= nmse && deviation.maximum <= maximum;
}

Bound bound(Op op, encoding::Encoding encoding) {
  switch (op) {
    case Op::embed:
      return kLookUp;
    case Op::linear:
    case Op::latent_up:
      return is_quantized(encoding) ? kQuantized : kFloat;
    case Op::experts:
      return is_quantized(encoding) ? kQuantizedTwice : kFloat;
    case Op::norm:
    case Op::rotate:
    case Op::paged_gqa:
    case Op::gated_activation:
    case Op::layer_norm:
    case Op::latent_attention:
    case Op::select_keys:
    case Op::select_pools:
    case Op::delta_rule:
    case Op::gated_norm:
    case Op::hyper_connection:
    case Op::route:
      return kFloat;
  }
  ZLLM_CHECK(false, "an Op outside its enumeration");
}

Result<Deviation> compare(std::span<const float> results, std::span<const float> expected) {
  ZLLM_CHECK(results.size() == expected.size(), "comparison of another size");
  double errors = 0;
  double squares = 0;
  double largest = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!std::isfinite(results[i])) {
      return Error{Code::internal, concat("element ", i, " is NaN or infinite")};
    }
    const double wanted = static_cast<double>(expected[i]);
    const double error = std::abs(static_cast<double>(results[i]) - wanted);
    errors += error * error;
    squares += wanted * wanted;
    largest = std::max(largest, error);
  }
  if (errors == 0) {
    return Deviation{};
  }
  if (squares == 0) {
    return Error{Code::internal, "results that should all be zero are not"};
  }
  return Deviation{.nmse = errors / squares,
                   .maximum = largest / std::sqrt(squares / static_cast<double>(results.size()))};
}

}  // namespace zllm::conformance
