#include "doctor.h"

#include <zllm/base/cpu_features.h>
#include <zllm/base/process_limits.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/registry/model_registry.h>

#include "default_model.h"
#include "model_location.h"
#include "output.h"

namespace zllm::cli {
namespace {

struct Options {};

void describe(Options&, OptionTable&) {}

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::string join(const std::vector<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) {
    text += concat(text.empty() ? "" : ", ", name);
  }
  return text;
}

std::string processor_section() {
  const CpuFeatures& features = cpu_features();
  return concat("processor\n  AVX2, FMA, F16C      ", yes_no(features.avx2),
                "\n  AVX-512 with VNNI    ", yes_no(features.avx512), "\n  AVX-512 VBMI         ",
                yes_no(features.avx512_vbmi), "\n  AVX-512 BF16         ",
                yes_no(features.avx512_bf16), "\n  instruction set      ",
                kernel::cpu::name(kernel::cpu::best_isa(features)), "\n  threads              ",
                usable_processors(), "\n");
}

std::string memory_section() {
  const auto limits = memory_limits();
  return limits ? concat("memory\n  limit                ", size_text(limits->total),
                         "\n  available            ", size_text(limits->available), "\n")
                : "memory\n  not known\n";
}

std::string build_section() {
  constexpr std::string_view kSanitizer = ZLLM_BUILD_SANITIZER;
  return concat("build\n  version              " ZLLM_VERSION
                "\n  compiler             " ZLLM_COMPILER
                "\n  type                 " ZLLM_BUILD_TYPE "\n  sanitizer            ",
                kSanitizer.empty() ? "none" : kSanitizer, "\n  backends             ",
                join(registry::backend_names()), "\n  architectures        ",
                join(registry::architecture_names()),
                "\n  text                 tokenizers, templates, grammars\n");
}

std::string model_section() {
  const Result<std::string> folder = models_folder();
  if (!folder.ok()) {
    return concat("models\n  ", folder.error().message, "\n");
  }
  return concat("models\n  folder               ", printable(*folder), "\n  default model        ",
                kDefaultModelName, ", ",
                has_default_model(*folder) ? "present" : "absent: 'zllm pull' fetches it", "\n");
}

Status run(const Options&) {
  return write_out(concat(processor_section(), memory_section(), build_section(), model_section()));
}

}  // namespace

Command doctor_command() {
  return make_command<Options>("doctor", "Show what this machine and this build can do", describe,
                               run);
}

}  // namespace zllm::cli
