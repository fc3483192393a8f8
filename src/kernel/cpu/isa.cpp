#include <zllm/kernel/cpu/isa.h>

#include <algorithm>
#include <array>
#include <cstddef>

namespace zllm::kernel::cpu {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"scalar", "avx2", "avx512"};

}  // namespace

std::string_view name(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> isa_named(std::string_view name) {
  const auto *found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) {
    return std::nullopt;
  }
  return static_cast<Isa>(found - kNames.begin());
}

Isa best_isa(const CpuFeatures& features, Isa cap) {
  const Isa best = features.avx512 ? Isa::avx512 : features.avx2 ? Isa::avx2 : Isa::scalar;
  return std::min(best, cap);
}

}  // namespace zllm::kernel::cpu
