#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/residual/hyper_connection.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::Isa;
using residual::HyperConnectionSpec;

std::vector<float> noise(std::size_t count, unsigned seed, float size = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, size);
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return normal(random); });
  return values;
}

std::unique_ptr<CpuBackend> backend_of(unsigned threads, Isa isa = Isa::avx512) {
  return std::move(CpuBackend::create({.threads = threads, .isa_cap = isa}).value());
}

// A site's weights and some rows. The mixing is kept in bf16, which both sides read.
struct Site {
  HyperConnectionSpec spec;
  std::uint32_t width;
  std::uint32_t rows;
  std::vector<std::uint16_t> stored;
  std::vector<float> mixing, base, scale, streams, sublayer;

  Site(std::uint32_t count, std::uint32_t of_width, std::uint32_t of_rows)
      : spec{.streams = count, .iterations = 20},
        width(of_width),
        rows(of_rows),
        mixing(noise(std::size_t{residual::mix_width(spec)} * count * width, 1, 0.3F)),
        base(noise(residual::mix_width(spec), 2)),
        scale(noise(3, 3)),
        streams(noise(std::size_t{rows} * count * width, 4, 3.0F)),
        sublayer(noise(std::size_t{rows} * width, 5)) {
    for (float& value : mixing) {
      stored.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16));
      value = std::bit_cast<float>(std::uint32_t{stored.back()} << 16);
    }
  }
  std::uint32_t mixes() const { return residual::mix_width(spec) - spec.streams; }
};

struct Outputs {
  std::vector<float> input, mixing, merged, collapsed;
  bool operator==(const Outputs&) const = default;
};

Tensor tensor_of(CpuBackend& backend, std::uint32_t rows, std::uint32_t columns,
                 std::span<const float> values = {}) {
  Tensor tensor = std::move(backend.tensor(rows, columns).value());
  if (!values.empty()) {
    EXPECT_TRUE(backend.write(values, tensor).ok());
  }
  return tensor;
}

std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.data(), tensor.data() + tensor.size()};
}

Weight vector_of(CpuBackend& backend, const std::vector<float>& values) {
  return std::move(backend
                       .load_vector({.encoding = encoding::Encoding::f32,
                                     .rows = 1,
                                     .columns = values.size(),
                                     .bytes = std::as_bytes(std::span(values)),
                                     .name = {}})
                       .value());
}

// Rows [first, first + rows) of the site.
Outputs run(CpuBackend& backend, const Site& site, std::uint32_t first, std::uint32_t rows) {
  const std::uint32_t wide = site.spec.streams * site.width;
  const Weight mixing = std::move(backend
                                      .load_matrix({.encoding = encoding::Encoding::bf16,
                                                    .rows = residual::mix_width(site.spec),
                                                    .columns = wide,
                                                    .bytes = std::as_bytes(std::span(site.stored)),
                                                    .name = {}},
                                                   {})
                                      .value());
  const Weight base = vector_of(backend, site.base);
  const Weight scale = vector_of(backend, site.scale);
  const std::span<const float> all_streams(site.streams);
  const std::span<const float> all_sublayer(site.sublayer);
  Tensor streams =
      tensor_of(backend, rows, wide,
                all_streams.subspan(std::size_t{first} * wide, std::size_t{rows} * wide));
  const Tensor sublayer = tensor_of(
      backend, rows, site.width,
      all_sublayer.subspan(std::size_t{first} * site.width, std::size_t{rows} * site.width));
  Tensor input = tensor_of(backend, rows, site.width);
  Tensor mixes = tensor_of(backend, rows, site.mixes());
  Tensor collapsed = tensor_of(backend, rows, site.width);
  EXPECT_TRUE(backend
                  .split_streams(site.spec, {.mixing = &mixing, .base = &base, .scale = &scale},
                                 streams, input, mixes)
                  .ok());
  EXPECT_TRUE(backend.merge_streams(site.spec, sublayer, mixes, streams).ok());
  EXPECT_TRUE(backend.collapse_streams(streams, collapsed).ok());
  return {values_of(input), values_of(mixes), values_of(streams), values_of(collapsed)};
}

Outputs exact(const Site& site) {
  const std::size_t n = site.spec.streams;
  std::vector<float> input(site.sublayer.size());
  std::vector<float> after(site.rows * n);
  std::vector<float> combine(site.rows * n * n);
  residual::split(site.spec, {.mixing = site.mixing, .base = site.base, .scale = site.scale},
                  site.streams, site.width, input, after, combine);
  std::vector<float> streams = site.streams;
  residual::merge(site.spec, site.sublayer, after, combine, site.width, streams);
  std::vector<float> collapsed(site.sublayer.size());
  residual::collapse(streams, site.width, site.spec.streams, collapsed);
  std::vector<float> mixing;
  for (std::size_t row = 0; row < site.rows; ++row) {
    mixing.insert(mixing.end(), after.data() + row * n, after.data() + (row + 1) * n);
    mixing.insert(mixing.end(), combine.data() + row * n * n, combine.data() + (row + 1) * n * n);
  }
  return {input, mixing, streams, collapsed};
}

// The largest difference, relative to the largest value.
double distance(std::span<const float> values, std::span<const float> expected) {
  double largest = 1e-3;
  double difference = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(expected[i]);
    largest = std::max(largest, std::abs(value));
    difference = std::max(difference, std::abs(static_cast<double>(values[i]) - value));
  }
  return difference / largest;
}

// The product of the logits in f32 is the one step that rounds much; the rest is f64.
constexpr double kBound = 4e-6;

TEST(HyperConnection, AgreesWithTheReference) {
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    const auto backend = backend_of(1, isa);
    if (backend->isa() != isa) {
      continue;
    }
    for (const std::uint32_t streams : {1U, 2U, 3U, 4U}) {
      for (const std::uint32_t width : {1U, 3U, 17U, 96U}) {
        const Site site(streams, width, 5);
        const Outputs outputs = run(*backend, site, 0, 5);
        const Outputs expected = exact(site);
        EXPECT_LE(distance(outputs.input, expected.input), kBound) << streams << " x " << width;
        EXPECT_LE(distance(outputs.mixing, expected.mixing), kBound);
        EXPECT_LE(distance(outputs.merged, expected.merged), kBound);
        EXPECT_LE(distance(outputs.collapsed, expected.collapsed), kBound);
      }
    }
  }
}

TEST(HyperConnection, RowsAndThreadsDoNotMatter) {
  const Site site(4, 97, 70);
  const Outputs whole = run(*backend_of(1), site, 0, 70);
  for (const unsigned threads : {2U, 3U}) {
    EXPECT_EQ(run(*backend_of(threads), site, 0, 70), whole);
  }
  const auto backend = backend_of(2);
  for (const std::uint32_t row : {0U, 15U, 16U, 69U}) {
    const Outputs alone = run(*backend, site, row, 1);
    EXPECT_TRUE(std::equal(alone.merged.begin(), alone.merged.end(),
                           whole.merged.begin() + row * std::ptrdiff_t{4} * 97));
    EXPECT_TRUE(std::equal(alone.input.begin(), alone.input.end(),
                           whole.input.begin() + row * std::ptrdiff_t{97}));
  }
}

TEST(HyperConnection, ExpandedRowsCollapseToThemselves) {
  const auto backend = backend_of(2);
  for (const std::uint32_t streams : {1U, 2U, 4U}) {
    const auto values = noise(std::size_t{70} * 97, 7);
    const Tensor rows = tensor_of(*backend, 70, 97, values);
    Tensor expanded = tensor_of(*backend, 70, 97 * streams);
    Tensor back = tensor_of(*backend, 70, 97);
    ASSERT_TRUE(backend->expand_streams(rows, expanded).ok());
    ASSERT_TRUE(backend->collapse_streams(expanded, back).ok());
    EXPECT_EQ(values_of(back), values);
    std::vector<float> expected(expanded.size());
    residual::expand(values, 97, streams, expected);
    EXPECT_EQ(values_of(expanded), expected);
  }
}

TEST(HyperConnection, TooManyStreamsAreRefused) {
  const auto backend = backend_of(1);
  const HyperConnectionSpec spec{.streams = 17, .iterations = 1};
  const Tensor sublayer = tensor_of(*backend, 1, 1);
  const Tensor mixing = tensor_of(*backend, 1, residual::mix_width(spec) - 17);
  Tensor streams = tensor_of(*backend, 1, 17);
  EXPECT_EQ(backend->merge_streams(spec, sublayer, mixing, streams).error().code,
            Code::invalid_argument);
}

}  // namespace
}  // namespace zllm::backend::cpu
