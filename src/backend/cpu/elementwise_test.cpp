#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/activation/reference.h>
#include <zllm/backend/cpu/backend_fixture-inl.h>
#include <zllm/norm/reference.h>

namespace zllm::backend::cpu {
namespace {

using activation::Gate;
using norm::Flavour;

const std::vector<activation::Spec> kGates = {
    {.gate = Gate::swiglu},
    {.gate = Gate::clamped_swiglu, .limit = 10.0},
    {.gate = Gate::swiglu_oai, .limit = 7.0},
    {.gate = Gate::geglu_tanh},
    {.gate = Gate::situ},
    {.gate = Gate::situ, .linear_beta = 25.0},
};

TEST(Activate, EqualsTheReference) {
  std::vector<float> gate = noise(3000, 1, 5.0F);
  std::vector<float> up = noise(3000, 2, 8.0F);
  for (std::size_t i = 0; i < 1000; ++i) {
    gate[i] = (static_cast<float>(i) - 500.0F) * 0.1F;
  }
  const float places[] = {0.0F, -0.0F, 7.0F, 7.0001F, 10.0F, -10.0F, 1e4F, -1e4F, 1e-30F, 3e5F};
  for (std::size_t i = 0; i < 100; ++i) {
    gate[i] = places[i / 10];
    up[i] = places[i % 10];
  }
  for (const auto& backend : all_backends()) {
    for (const activation::Spec& spec : kGates) {
      for (const std::size_t columns : {1U, 3U, 20U, 3000U}) {
        Tensor gates = tensor_of(*backend, gate, columns);
        const Tensor ups = tensor_of(*backend, up, columns);
        ASSERT_TRUE(backend->activate(spec, gates, ups, gates).ok());
        const auto output = values_of(*backend, gates);
        std::vector<float> expected(gate.size());
        activation::apply(spec, gate, up, expected);
        for (std::size_t i = 0; i < gate.size(); ++i) {
          // A tail of the exponential has a relative error of its argument's rounding.
          const float size = std::abs(expected[i]) * 3e-6F + (std::abs(up[i]) + 1.0F) * 1e-10F;
          EXPECT_NEAR(output[i], expected[i], size)
              << static_cast<int>(spec.gate) << ": " << gate[i] << ", " << up[i];
        }
      }
    }
  }
}

TEST(Activate, KeepsNanAndTakesInfinitiesAsTheReferenceDoes) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float places[] = {1.0F, -1.0F, kInfinity, -kInfinity, std::nanf("")};
  std::vector<float> gate;
  std::vector<float> up;
  for (const float g : places) {
    for (const float u : places) {
      gate.push_back(g);
      up.push_back(u);
    }
  }
  for (const auto& backend : all_backends()) {
    for (const activation::Spec& spec : kGates) {
      const Tensor gates = tensor_of(*backend, gate, gate.size());
      Tensor ups = tensor_of(*backend, up, up.size());
      ASSERT_TRUE(backend->activate(spec, gates, ups, ups).ok());
      const auto output = values_of(*backend, ups);
      std::vector<float> expected(gate.size());
      activation::apply(spec, gate, up, expected);
      for (std::size_t i = 0; i < gate.size(); ++i) {
        const bool same = std::isnan(expected[i])   ? std::isnan(output[i])
                          : std::isinf(expected[i]) ? output[i] == expected[i]
                                                    : std::abs(output[i] - expected[i]) < 1e-4F;
        EXPECT_TRUE(same) << static_cast<int>(spec.gate) << ": " << gate[i] << ", " << up[i]
                          << " gives " << output[i] << ", not " << expected[i];
      }
    }
  }
}

struct NormCase {
  std::size_t width;
  std::size_t groups;
  float size;
  float middle;
};

const std::vector<NormCase> kNorms = {
    {1, 1, 1.0F, 0.0F},    {1, 5, 1e3F, 0.0F},      {3, 2, 1.0F, 2.0F},
    {16, 1, 1e-4F, 0.0F},  {17, 3, 1.0F, 1e5F},     {128, 1, 1.0F, 1e6F},
    {128, 4, 1e15F, 0.0F}, {1000, 2, 30.0F, -7.0F}, {1000, 20, 1.0F, 3.0F}};

TEST(LayerNorm, EqualsTheReference) {
  for (const auto& backend : all_backends()) {
    for (const NormCase& entry : kNorms) {
      const std::size_t columns = entry.width * entry.groups;
      const auto rows = noise(3 * columns, 1, entry.size, entry.middle);
      const auto weight = noise(entry.width, 2);
      const auto bias = noise(entry.width, 3);
      Tensor tensor = tensor_of(*backend, rows, columns);
      ASSERT_TRUE(backend
                      ->layer_norm(tensor, vector_of(*backend, weight), vector_of(*backend, bias),
                                   1e-6, tensor)
                      .ok());
      const auto output = values_of(*backend, tensor);
      std::vector<float> expected(rows.size());
      norm::normalise({Flavour::layer, 1e-6},
                      {.rows = rows, .width = entry.width, .weight = weight, .bias = bias},
                      expected);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::size_t lane = i % entry.width;
        const float size = std::abs(bias[lane]) + std::abs(expected[i] - bias[lane]);
        EXPECT_NEAR(output[i], expected[i], 3e-6F * (size + std::abs(weight[lane])))
            << entry.width << " at " << i;
      }
    }
  }
}

TEST(LayerNorm, OfConstantRowsIsTheBias) {
  for (const auto& backend : all_backends()) {
    for (const std::size_t width : {1U, 7U, 1000U}) {
      const std::vector<float> rows(2 * width, 1234567.125F);
      const auto bias = noise(width, 3);
      const Tensor in = tensor_of(*backend, rows, width);
      Tensor out = backend->tensor(2, static_cast<std::uint32_t>(width)).value();
      const std::vector<float> ones(width, 1.0F);
      ASSERT_TRUE(
          backend->layer_norm(in, vector_of(*backend, ones), vector_of(*backend, bias), 1e-6, out)
              .ok());
      for (std::size_t i = 0; i < width; ++i) {
        EXPECT_NEAR(out.row(1)[i], bias[i], 1e-4F) << width;
      }
    }
  }
}

TEST(GatedNorm, EqualsTheReference) {
  for (const auto& backend : all_backends()) {
    for (const Flavour flavour : {Flavour::gated_rms_silu, Flavour::gated_rms_sigmoid}) {
      for (const NormCase& entry : kNorms) {
        const std::size_t columns = entry.width * entry.groups;
        const auto rows = noise(3 * columns, 1, entry.size, entry.middle);
        const auto gate = noise(3 * columns, 2, 6.0F);
        const auto weight = noise(entry.width, 3);
        const Tensor in = tensor_of(*backend, rows, columns);
        Tensor gates = tensor_of(*backend, gate, columns);
        const norm::Spec spec{flavour, 1e-5};
        ASSERT_TRUE(backend->gated_norm(spec, in, vector_of(*backend, weight), gates, gates).ok());
        const auto output = values_of(*backend, gates);
        std::vector<float> expected(rows.size());
        norm::normalise(spec, {.rows = rows, .width = entry.width, .weight = weight, .gate = gate},
                        expected);
        for (std::size_t i = 0; i < rows.size(); ++i) {
          EXPECT_NEAR(output[i], expected[i], 3e-6F * std::abs(expected[i]) + 1e-20F)
              << entry.width << " at " << i;
        }
      }
    }
  }
}

TEST(GatedNormDeathTest, RefusesFlavoursWithoutGate) {
  const auto backend = make_backend(Isa::scalar, 1);
  const std::vector<float> ones(4, 1.0F);
  const Tensor in = tensor_of(*backend, ones, 4);
  const Weight weight = vector_of(*backend, ones);
  Tensor out = tensor_of(*backend, ones, 4);
  for (const Flavour flavour : {Flavour::rms, Flavour::layer, Flavour::l2}) {
    EXPECT_DEATH(static_cast<void>(backend->gated_norm({flavour, 1e-5}, in, weight, in, out)),
                 "without gate");
  }
}

TEST(Norms, HaveTheSameBitsForAnyNumberOfThreads) {
  constexpr std::size_t kColumns = 640;
  const auto rows = noise(101 * kColumns, 1);
  const auto weight = noise(128, 2);
  std::vector<float> first;
  for (const unsigned threads : {1U, 2U, 3U}) {
    const auto backend = make_backend(Isa::avx512, threads);
    const Tensor in = tensor_of(*backend, rows, kColumns);
    Tensor out = tensor_of(*backend, rows, kColumns);
    const Weight scale = vector_of(*backend, weight);
    ASSERT_TRUE(backend->layer_norm(in, scale, scale, 1e-6, out).ok());
    ASSERT_TRUE(backend->gated_norm({Flavour::gated_rms_silu}, out, scale, in, out).ok());
    const auto output = values_of(*backend, out);
    first = first.empty() ? output : first;
    EXPECT_TRUE(same_bits(output, first)) << threads;
  }
}

}  // namespace
}  // namespace zllm::backend::cpu
