#include <zllm/base/cpu_features.h>

namespace zllm {
namespace {

CpuFeatures probe() {
  CpuFeatures features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const auto has = [](int supported) { return supported != 0; };
  features.avx2 = has(__builtin_cpu_supports("avx2")) && has(__builtin_cpu_supports("fma")) &&
                  has(__builtin_cpu_supports("f16c"));
  features.avx512 =
      features.avx2 && has(__builtin_cpu_supports("avx512f")) &&
      has(__builtin_cpu_supports("avx512bw")) && has(__builtin_cpu_supports("avx512vl")) &&
      has(__builtin_cpu_supports("avx512dq")) && has(__builtin_cpu_supports("avx512vnni"));
  features.avx512_vbmi = features.avx512 && has(__builtin_cpu_supports("avx512vbmi"));
  features.avx512_bf16 = features.avx512 && has(__builtin_cpu_supports("avx512bf16"));
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = probe();
  return features;
}

}  // namespace zllm
