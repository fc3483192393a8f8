#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <zllm/base/cpu_features.h>

// Kernels of an instruction set live in a folder of their own, compiled with its flags, and may
// run only where the probe found it. Such a file includes plain headers and the intrinsics alone
// and keeps all its functions in an anonymous namespace: an inline function that the linker
// shares between files must never come from one of them.
namespace zllm::kernel::cpu {

enum class Isa : std::uint8_t { scalar, avx2, avx512 };  // ascending: each runs on the later ones

std::string_view name(Isa isa);
std::optional<Isa> isa_named(std::string_view name);

// The best instruction set of the processor, but none above the cap.
Isa best_isa(const CpuFeatures& features, Isa cap = Isa::avx512);

}  // namespace zllm::kernel::cpu
