#include <zllm/base/cpu_features.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace zllm {
namespace {

#if defined(__x86_64__) && defined(__linux__)

bool saves_tiles() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr std::uint32_t kTileConfigAndData = 3U << 17U;
  return (low & kTileConfigAndData) == kTileConfigAndData;
}

// Linux gives tiles only to processes that ask, since they make every signal frame 8 KiB larger.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_amx() {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
  constexpr std::uint32_t kTileAndInt8 = 3U << 24U;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTileAndInt8) == kTileAndInt8 &&
         saves_tiles() && may_use_tiles();
}

#elif defined(__x86_64__)

bool has_amx() { return false; }

#endif

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
  features.amx = features.avx512 && has_amx();
#endif
  return features;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = probe();
  return features;
}

}  // namespace zllm
