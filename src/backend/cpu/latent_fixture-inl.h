#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/base/cpu_features.h>
#include <zllm/encoding/half.h>

// What the tests of latent attention and selections share.
namespace zllm::backend::cpu {

inline std::vector<kernel::cpu::Isa> present_isas() {
  using kernel::cpu::Isa;
  std::vector<Isa> all;
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (kernel::cpu::best_isa(cpu_features(), isa) == isa) {
      all.push_back(isa);
    }
  }
  return all;
}

inline std::unique_ptr<CpuBackend> test_backend(kernel::cpu::Isa isa, unsigned threads) {
  auto backend = CpuBackend::create({.threads = threads, .isa_cap = isa});
  EXPECT_TRUE(backend.ok());
  return std::move(*backend);
}

// Numbers of order 1, the same in every run.
class Noise {
 public:
  explicit Noise(unsigned seed) : random_(seed) {}

  std::vector<float> values(std::size_t count, float scale = 1.0F) {
    std::vector<float> all(count);
    for (float& value : all) {
      value = scale * normal_(random_);
    }
    return all;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<float> normal_;
};

inline Tensor tensor_of(std::span<const float> values, std::size_t columns) {
  const auto rows = static_cast<std::uint32_t>(values.size() / columns);
  auto tensor = Tensor::make(rows, static_cast<std::uint32_t>(columns));
  EXPECT_TRUE(tensor.ok());
  std::copy(values.begin(), values.end(), tensor->data());
  return std::move(*tensor);
}

// What a cache of this type gives back.
inline std::vector<float> stored(std::vector<float> values, KvType type) {
  for (float& value : values) {
    value = type == KvType::f32 ? value : encoding::f16_to_f32(encoding::f32_to_f16(value));
  }
  return values;
}

// A sequence's pages, far from each other in the cache.
inline std::vector<PageId> scattered_pages(std::uint32_t sequence, std::size_t positions) {
  constexpr std::uint32_t kSequences = 4;
  std::vector<PageId> pages;
  for (std::uint32_t i = 0; i * CpuBackend::kPageTokens < positions; ++i) {
    pages.emplace_back((i ^ 1U) * kSequences + sequence);
  }
  return pages;
}
constexpr std::uint32_t kTestPages = 640;

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace zllm::backend::cpu
