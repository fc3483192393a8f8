#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/backend_fixture-inl.h>
#include <zllm/kernel/cpu/dispatch/product_fixture-inl.h>
#include <zllm/moe/experts.h>

namespace zllm::backend::cpu {
namespace {

using encoding::Encoding;
using kernel::cpu::Matrix;
using kernel::cpu::packable;

const activation::Spec kGate{.gate = activation::Gate::clamped_swiglu, .limit = 10.0};

struct Shape {
  std::uint64_t width;
  std::uint64_t intermediate;
};

// Random experts; each kind of matrix takes its encodings in turn.
struct Layer {
  Layer(std::size_t count, Shape given, const std::vector<Encoding>& encodings) : shape(given) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto encoding = [&](std::uint32_t kind) {
        return encodings[(i + kind) % encodings.size()];
      };
      gate.emplace_back(encoding(0), shape.intermediate, shape.width, 3 * i + 1);
      up.emplace_back(encoding(1), shape.intermediate, shape.width, 3 * i + 2);
      down.emplace_back(encoding(2), shape.width, shape.intermediate, 3 * i + 3);
    }
  }

  // Of copies: loading drops the source's memory, as it may when that is a file.
  ExpertViews views() {
    const auto all = [this](const std::vector<Matrix>& matrices) {
      std::vector<encoding::WeightView> views;
      for (const Matrix& matrix : matrices) {
        views.push_back(matrix.view);
        views.back().bytes = copies.emplace_back(matrix.bytes);
      }
      return views;
    };
    return {.gate = all(gate), .up = all(up), .down = all(down)};
  }

  // Rows whose gates are about 1, where the activation bends.
  std::vector<float> input(std::size_t rows, std::uint32_t seed) const {
    double squares = 0;
    for (const float weight : gate.front().decoded) {
      squares += static_cast<double>(weight) * static_cast<double>(weight);
    }
    const double size = std::sqrt(static_cast<double>(shape.intermediate) / squares);
    return noise(rows * shape.width, seed, static_cast<float>(size));
  }

  std::vector<float> reference(const moe::Routing& routing, const std::vector<float>& input) const {
    const auto joined = [](const std::vector<Matrix>& matrices) {
      std::vector<float> values;
      for (const Matrix& matrix : matrices) {
        values.insert(values.end(), matrix.decoded.begin(), matrix.decoded.end());
      }
      return values;
    };
    const auto gates = joined(gate);
    const auto ups = joined(up);
    const auto downs = joined(down);
    std::vector<float> output(input.size());
    moe::apply({.gate = gates,
                .up = ups,
                .down = downs,
                .width = shape.width,
                .intermediate = shape.intermediate},
               kGate, routing, input, output);
    return output;
  }

  Shape shape;
  std::vector<Matrix> gate, up, down;
  std::deque<std::vector<std::byte>> copies;
};

// Every row chooses `top_k` of the first `used` experts.
moe::Routing random_routing(std::size_t rows, std::uint32_t used, std::uint32_t top_k,
                            std::uint32_t seed) {
  std::mt19937 random(seed);
  moe::Routing routing{.top_k = top_k, .experts = {}, .weights = {}};
  std::vector<std::uint32_t> order(used);
  for (std::size_t row = 0; row < rows; ++row) {
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    std::sort(order.begin(), order.begin() + top_k);
    routing.experts.insert(routing.experts.end(), order.begin(), order.begin() + top_k);
  }
  routing.weights = noise(rows * top_k, seed, 0.2F, 0.5F);
  return routing;
}

std::vector<float> run(CpuBackend& backend, const Experts& experts, const moe::Routing& routing,
                       const std::vector<float>& input, LinearOutput output = LinearOutput::replace,
                       const std::vector<float>& before = {}) {
  const std::size_t width = input.size() / routing.rows();
  const Tensor in = tensor_of(backend, input, width);
  Tensor out = tensor_of(backend, before.empty() ? input : before, width);
  EXPECT_TRUE(backend.experts(in, experts, routing, kGate, output, out).ok());
  return values_of(backend, out);
}

std::vector<float> product(CpuBackend& backend, const Tensor& in, const Matrix& matrix) {
  const std::vector<std::byte> copy = matrix.bytes;
  encoding::WeightView view = matrix.view;
  view.bytes = copy;
  const Weight weight = backend.load_matrix(view, {.as_product = true}).value();
  Tensor out = backend.tensor(1, static_cast<std::uint32_t>(matrix.view.rows)).value();
  const CpuBackend::Job job{.weight = &weight, .out = &out};
  EXPECT_TRUE(backend.linear(in, {&job, 1}, LinearOutput::replace).ok());
  return values_of(backend, out);
}

// The same through one product at a time.
std::vector<float> one_by_one(CpuBackend& backend, const Layer& layer, const moe::Routing& routing,
                              const std::vector<float>& input) {
  const std::size_t width = layer.shape.width;
  std::vector<float> output(input.size(), 0.0F);
  for (std::size_t slot = 0; slot < routing.experts.size(); ++slot) {
    const std::size_t row = slot / routing.top_k;
    const std::uint32_t expert = routing.experts[slot];
    const Tensor in = tensor_of(backend, std::span(input).subspan(row * width, width), width);
    const auto gates = product(backend, in, layer.gate[expert]);
    const auto ups = product(backend, in, layer.up[expert]);
    Tensor hidden = tensor_of(backend, gates, gates.size());
    const Tensor up = tensor_of(backend, ups, ups.size());
    EXPECT_TRUE(backend.activate(kGate, hidden, up, hidden).ok());
    const auto result = product(backend, hidden, layer.down[expert]);
    for (std::size_t i = 0; i < width; ++i) {
      output[row * width + i] += routing.weights[slot] * result[i];
    }
  }
  return output;
}

double nmse(const std::vector<float>& output, const std::vector<float>& expected) {
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double difference = static_cast<double>(output[i]) - static_cast<double>(expected[i]);
    error += difference * difference;
    power += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  return error / power;
}

const std::vector<Encoding> kEncodings = {
    Encoding::f32,  Encoding::f16,  Encoding::bf16,  Encoding::q8_0,    Encoding::q4_0,
    Encoding::q4_k, Encoding::q6_k, Encoding::mxfp4, Encoding::iq2_xxs,
};

Shape shape_for(Encoding encoding) {
  const std::size_t block = encoding::info(encoding).block_elements;
  return block == 1 ? Shape{37, 45} : block == 32 ? Shape{96, 160} : Shape{256, 512};
}

TEST(Experts, AreProductsOneByOneAndNearTheReference) {
  for (const auto& backend : all_backends()) {
    for (const Encoding encoding : kEncodings) {
      Layer layer(5, shape_for(encoding), {encoding});
      const Experts experts = backend->load_experts(layer.views()).value();
      for (const std::size_t rows : {1U, 2U, 7U}) {
        const auto input = layer.input(rows, 7);
        // Nobody chooses the last expert.
        const auto routing = random_routing(rows, 4, 2, 11);
        const auto output = run(*backend, experts, routing, input);
        EXPECT_TRUE(same_bits(output, one_by_one(*backend, layer, routing, input)))
            << encoding::info(encoding).name << ", " << rows << " rows";
        // Two quantised products after each other, or rounding alone.
        EXPECT_LT(nmse(output, layer.reference(routing, input)), packable(encoding) ? 1e-3 : 1e-11)
            << encoding::info(encoding).name << ", " << rows << " rows";
      }
    }
  }
}

TEST(Experts, MayEachHaveTheirOwnEncodings) {
  for (const auto& backend : all_backends(3)) {
    Layer layer(6, {256, 256}, {Encoding::q4_0, Encoding::f32, Encoding::iq2_xxs, Encoding::q6_k});
    const Experts experts = backend->load_experts(layer.views()).value();
    const auto input = layer.input(9, 7);
    const auto routing = random_routing(9, 6, 3, 5);
    EXPECT_TRUE(same_bits(run(*backend, experts, routing, input),
                          one_by_one(*backend, layer, routing, input)));
  }
}

TEST(Experts, HaveTheSameBitsAloneInABatchAndOnAnyNumberOfThreads) {
  for (const Encoding encoding : {Encoding::bf16, Encoding::q4_0}) {
    Layer layer(8, {288, 544}, {encoding});
    constexpr std::size_t kRows = 67;
    const auto input = noise(kRows * 288, 3);
    struct Choice {
      std::uint32_t used, top_k;
    };
    // Some experts, all rows on one, all experts of all rows.
    for (const Choice& choice : {Choice{8, 3}, Choice{1, 1}, Choice{8, 8}}) {
      const auto routing = random_routing(kRows, choice.used, choice.top_k, 9);
      std::vector<float> first;
      for (const unsigned threads : {1U, 2U, 3U}) {
        const auto backend = make_backend(Isa::avx512, threads);
        const Experts experts = backend->load_experts(layer.views()).value();
        const auto output = run(*backend, experts, routing, input);
        first = first.empty() ? output : first;
        EXPECT_TRUE(same_bits(output, first)) << threads << " threads";
        for (std::size_t row = 0; row < kRows; row += 11) {
          const auto slot = static_cast<std::ptrdiff_t>(row * choice.top_k);
          const auto column = static_cast<std::ptrdiff_t>(row * 288);
          const moe::Routing own{.top_k = choice.top_k,
                                 .experts = {routing.experts.begin() + slot,
                                             routing.experts.begin() + slot + choice.top_k},
                                 .weights = {routing.weights.begin() + slot,
                                             routing.weights.begin() + slot + choice.top_k}};
          const std::vector<float> alone(input.begin() + column, input.begin() + column + 288);
          EXPECT_TRUE(same_bits(run(*backend, experts, own, alone),
                                std::span(output).subspan(row * 288, 288)))
              << "row " << row;
        }
      }
    }
  }
}

TEST(Experts, MakeManyResultsInPartsOfTheWidth) {
  const auto backend = make_backend(Isa::avx512, 2);
  Layer layer(9, {2080, 32}, {Encoding::q8_0});
  const Experts experts = backend->load_experts(layer.views()).value();
  constexpr std::size_t kRows = 300;
  const auto input = noise(kRows * 2080, 3);
  const auto routing = random_routing(kRows, 9, 8, 9);
  const auto output = run(*backend, experts, routing, input);
  const moe::Routing last{.top_k = 8,
                          .experts = {routing.experts.end() - 8, routing.experts.end()},
                          .weights = {routing.weights.end() - 8, routing.weights.end()}};
  const std::vector<float> row(input.end() - 2080, input.end());
  EXPECT_TRUE(same_bits(run(*backend, experts, last, row), std::span(output).last(2080)));
}

TEST(Experts, AddToTheOutput) {
  for (const auto& backend : all_backends()) {
    Layer layer(3, {96, 64}, {Encoding::q4_0});
    const Experts experts = backend->load_experts(layer.views()).value();
    const auto input = noise(5 * 96, 3);
    const auto before = noise(5 * 96, 4);
    const auto routing = random_routing(5, 3, 2, 9);
    const auto replaced = run(*backend, experts, routing, input);
    const auto added = run(*backend, experts, routing, input, LinearOutput::accumulate, before);
    for (std::size_t i = 0; i < added.size(); ++i) {
      EXPECT_EQ(added[i], before[i] + replaced[i]);
    }
  }
}

TEST(Experts, ShowInputsThatAreNotFiniteInTheirRowAlone) {
  for (const Encoding encoding : {Encoding::f32, Encoding::q4_0}) {
    const auto backend = make_backend(Isa::avx512, 2);
    Layer layer(3, {96, 64}, {encoding});
    const Experts experts = backend->load_experts(layer.views()).value();
    auto input = noise(4 * 96, 3);
    input[96 + 5] = std::nanf("");
    const auto output = run(*backend, experts, random_routing(4, 3, 2, 9), input);
    for (std::size_t i = 0; i < output.size(); ++i) {
      EXPECT_EQ(std::isnan(output[i]), i / 96 == 1) << i;
    }
  }
}

TEST(LoadExperts, NamesTheExpertThatIsWrong) {
  const auto backend = make_backend(Isa::avx512, 2);
  Layer layer(4, {96, 64}, {Encoding::q4_0});
  layer.down[2].put(0, std::uint16_t{0x7C00});
  const auto infinite = backend->load_experts(layer.views());
  ASSERT_FALSE(infinite.ok());
  EXPECT_EQ(infinite.error().message.find("down: expert 2: "), 0U) << infinite.error().message;
  ExpertViews views = layer.views();
  std::swap(views.up[3], views.down[3]);
  const auto turned = backend->load_experts(views);
  ASSERT_FALSE(turned.ok());
  EXPECT_NE(turned.error().message.find("expert 3"), std::string::npos) << turned.error().message;
}

TEST(AddGated, AgreesWithTheDomainOnEveryInstructionSet) {
  constexpr std::size_t kRows = 5;
  for (const std::size_t width : {1UL, 17UL, 4096UL}) {
    const std::vector<float> rows = noise(kRows * width, 11);
    const std::vector<float> gates = noise(kRows, 12, 4.0F);
    const std::vector<float> before = noise(kRows * width, 13);
    std::vector<float> expected = before;
    moe::add_gated(rows, gates, width, expected);
    for (const auto& backend : all_backends()) {
      const Tensor terms = tensor_of(*backend, rows, width);
      const Tensor gate = tensor_of(*backend, gates, 1);
      Tensor out = tensor_of(*backend, before, width);
      ASSERT_TRUE(backend->add_gated(terms, gate, out).ok());
      const std::vector<float> actual = values_of(*backend, out);
      for (std::size_t i = 0; i < actual.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], 1e-6F) << width << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace zllm::backend::cpu
