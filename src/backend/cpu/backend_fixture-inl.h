#pragma once

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/base/cpu_features.h>

// Backends and tensors for the tests of operations.
namespace zllm::backend::cpu {
namespace {

using kernel::cpu::Isa;

[[maybe_unused]] std::unique_ptr<CpuBackend> make_backend(Isa isa, unsigned threads) {
  auto backend = CpuBackend::create({.threads = threads, .isa_cap = isa});
  return std::move(backend).value();
}

// One backend for every instruction set that this processor has.
[[maybe_unused]] std::vector<std::unique_ptr<CpuBackend>> all_backends(unsigned threads = 2) {
  std::vector<std::unique_ptr<CpuBackend>> all;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (kernel::cpu::best_isa(cpu_features(), isa) == isa) {
      all.push_back(make_backend(isa, threads));
    }
  }
  return all;
}

[[maybe_unused]] std::vector<float> noise(std::size_t count, std::uint32_t seed, float size = 1.0F,
                                          float middle = 0.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(middle, size);
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
  }
  return values;
}

[[maybe_unused]] Tensor tensor_of(CpuBackend& backend, std::span<const float> values,
                                  std::size_t columns) {
  const auto rows = static_cast<std::uint32_t>(values.size() / columns);
  Tensor tensor = backend.tensor(rows, static_cast<std::uint32_t>(columns)).value();
  EXPECT_TRUE(backend.write(values, tensor).ok());
  return tensor;
}

[[maybe_unused]] std::vector<float> values_of(CpuBackend& backend, const Tensor& tensor) {
  std::vector<float> values(tensor.size());
  EXPECT_TRUE(backend.read(tensor, values).ok());
  return values;
}

[[maybe_unused]] Weight vector_of(CpuBackend& backend, std::span<const float> values) {
  return backend
      .load_vector({.encoding = encoding::Encoding::f32,
                    .rows = 1,
                    .columns = values.size(),
                    .bytes = std::as_bytes(values)})
      .value();
}

[[maybe_unused]] bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace
}  // namespace zllm::backend::cpu
