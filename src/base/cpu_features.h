#pragma once

namespace zllm {

// What this processor and its operating system can run. A field is true only when the system
// saves the registers as well. Always false on other architectures.
struct CpuFeatures {
  bool avx2 = false;    // AVX2, FMA and F16C together
  bool avx512 = false;  // AVX-512 F, BW, VL, DQ and VNNI together, on top of avx2
  bool avx512_vbmi = false;
  bool avx512_bf16 = false;
};

// Probed once; any thread.
const CpuFeatures& cpu_features();

}  // namespace zllm
