#include <zllm/conformance/dense_data.h>

#include <cmath>
#include <span>

#include <zllm/activation/reference.h>
#include <zllm/norm/reference.h>
#include <zllm/rope/reference.h>

namespace zllm::conformance {
namespace {

// Columns behind a product's, which must stay as they are.
constexpr std::size_t kColumnsBehind = 3;

}  // namespace

EmbedData embed_data(const Case& one, const EmbedCase& embed) {
  Source source(one.seed);
  EmbedData data{.table = random_matrix(source, one.encoding, embed.vocabulary, embed.columns),
                 .tokens = {},
                 .expected = {}};
  for (std::uint32_t row = 0; row < embed.rows; ++row) {
    // The last token too: it is at the edge of the table.
    const std::uint32_t token = row == 0 ? embed.vocabulary - 1 : source.below(embed.vocabulary);
    data.tokens.push_back(static_cast<TokenId>(token));
    const auto begin = data.table.values.begin() + std::ptrdiff_t{token} * embed.columns;
    data.expected.insert(data.expected.end(), begin, begin + embed.columns);
  }
  return data;
}

LinearData linear_data(const Case& one, const LinearCase& linear) {
  Source source(one.seed);
  LinearData data;
  data.weight = random_matrix(source, one.encoding, linear.outputs, linear.columns);
  data.input = source.values(std::size_t{linear.rows} * linear.columns);
  if (linear.has_bias) {
    data.bias = source.values(linear.outputs);
  }
  data.width =
      linear.outputs + (linear.first_column == 0 ? 0 : linear.first_column + kColumnsBehind);
  data.before = source.values(linear.rows * data.width);
  data.expected = data.before;
  const std::vector<double> products = product(data.weight, data.input);
  for (std::size_t i = 0; i < products.size(); ++i) {
    const std::size_t output = i % linear.outputs;
    const std::size_t at = i / linear.outputs * data.width + linear.first_column + output;
    const double bias = data.bias.empty() ? 0.0 : static_cast<double>(data.bias[output]);
    const double before = linear.accumulates ? static_cast<double>(data.before[at]) : 0.0;
    data.expected[at] = static_cast<float>(before + products[i] + bias);
    if (!linear.accumulates) {
      data.before[at] = NAN;
    }
  }
  return data;
}

NormData norm_data(const Case& one, const NormCase& norm) {
  Source source(one.seed);
  const std::size_t count = std::size_t{norm.rows} * norm.groups * norm.columns;
  NormData data;
  data.rows = source.values(count, 3.0F);
  data.weight = source.values(norm.columns);
  if (norm::has_bias(norm.spec.flavour)) {
    data.bias = source.values(norm.columns);
  }
  if (norm::has_gate(norm.spec.flavour)) {
    data.gate = source.values(count, 2.0F);
  }
  data.expected.resize(count);
  norm::normalise(norm.spec,
                  {.rows = data.rows,
                   .width = norm.columns,
                   .weight = data.weight,
                   .bias = data.bias,
                   .gate = data.gate},
                  data.expected);
  return data;
}

RotateData rotate_data(const Case& one, const RotateCase& rotate) {
  Source source(one.seed);
  const std::size_t rows = rotate.positions.size();
  const std::size_t half = rotate.spec.rotated / 2;
  const std::size_t width = std::size_t{rotate.heads} * rotate.spec.head;
  RotateData data{.heads = source.values(rows * width),
                  .cosines = std::vector<float>(rows * half),
                  .sines = std::vector<float>(rows * half),
                  .expected = {}};
  data.expected = data.heads;
  const auto table = rope::make_table(rotate.rope, 0);
  ZLLM_CHECK(table.ok(), "a rope that validate() let pass");
  for (std::size_t row = 0; row < rows; ++row) {
    rope::cos_sin(*table, rotate.positions[row], std::span(data.cosines).subspan(row * half, half),
                  std::span(data.sines).subspan(row * half, half));
    for (std::size_t head = 0; head < rotate.heads; ++head) {
      rope::rotate(std::span(data.expected)
                       .subspan(row * width + head * rotate.spec.head + rotate.spec.first,
                                rotate.spec.rotated),
                   rotate.positions[row], *table, rotate.spec.pairing);
    }
  }
  return data;
}

ActivationData activation_data(const Case& one, const ActivationCase& activation) {
  Source source(one.seed);
  const std::size_t count = std::size_t{activation.rows} * activation.columns;
  ActivationData data{.gate = source.values(count, activation.size),
                      .up = source.values(count, activation.size),
                      .expected = std::vector<float>(count)};
  activation::apply(activation.spec, data.gate, data.up, data.expected);
  return data;
}

}  // namespace zllm::conformance
