#include <zllm/registry/model_registry.h>

#include <algorithm>
#include <span>
#include <utility>

#include <zllm/backend/cpu/cpu_backend.h>
#include <zllm/base/text.h>
#include <zllm/runtime/dense/cpu/compose.h>
#include <zllm/runtime/dense/dense_model.h>
#include <zllm/runtime/dense/sample.h>
#include <zllm/runtime/glm5_next/cpu/compose.h>
#include <zllm/runtime/glm5_next/glm5_next.h>
#include <zllm/runtime/glm5_next/sample.h>
#include <zllm/runtime/gqa_moe/cpu/compose.h>
#include <zllm/runtime/gqa_moe/gqa_moe.h>
#include <zllm/runtime/gqa_moe/sample.h>
#include <zllm/runtime/kimi_linear/cpu/compose.h>
#include <zllm/runtime/kimi_linear/kimi_linear.h>
#include <zllm/runtime/kimi_linear/sample.h>
#include <zllm/runtime/mla_moe/cpu/compose.h>
#include <zllm/runtime/mla_moe/mla_moe.h>
#include <zllm/runtime/mla_moe/sample.h>

namespace zllm::registry {
namespace {

using backend::cpu::CpuBackend;

struct Family {
  FamilyInfo info;
  Result<runtime::LoadedModel> (*load_on_cpu)(const weight::ModelFiles& files, CpuBackend& backend,
                                              const runtime::LoadOptions& options);
  Result<runtime::block::ModelNeeds> (*needs)(const weight::ModelFiles& files,
                                              const runtime::LoadOptions& options);
};

constexpr std::string_view kDense[] = {"llama", "mistral", "qwen2", "qwen3"};
constexpr std::string_view kGqaMoe[] = {"qwen2_moe", "qwen3_moe", "glm4_moe", "qwen3moe",
                                        "glm4moe"};
constexpr std::string_view kMlaMoe[] = {"deepseek_v3", "kimi_k2",    "deepseek_v32", "glm_moe_dsa",
                                        "deepseek2",   "deepseek32", "glm-dsa"};
constexpr std::string_view kKimiLinear[] = {"kimi_linear", "kimi-linear"};
constexpr std::string_view kGlm5Next[] = {"glm5_next", "glm5_next_text"};

constexpr Family kFamilies[] = {
    {{"dense decoder", kDense, runtime::dense::sample_requirements},
     runtime::dense::load_on_cpu,
     runtime::dense::needs},
    {{"grouped-query attention with experts", kGqaMoe, runtime::gqa_moe::sample_requirements},
     runtime::gqa_moe::load_on_cpu,
     runtime::gqa_moe::needs},
    {{"latent attention with experts", kMlaMoe, runtime::mla_moe::sample_requirements},
     runtime::mla_moe::load_on_cpu,
     runtime::mla_moe::needs},
    {{"delta and latent attention with experts", kKimiLinear,
      runtime::kimi_linear::sample_requirements},
     runtime::kimi_linear::load_on_cpu,
     runtime::kimi_linear::needs},
    {{"delta and pooled sparse attention over streams", kGlm5Next,
      runtime::glm5_next::sample_requirements},
     runtime::glm5_next::load_on_cpu,
     runtime::glm5_next::needs},
};

constexpr std::string_view kBackends[] = {"cpu"};

std::string join(const std::vector<std::string_view>& names) {
  std::string joined;
  for (const std::string_view name : names) {
    joined += concat(joined.empty() ? "" : ", ", name);
  }
  return joined;
}

Result<const Family *> find_family(const weight::ModelFiles& files, std::string_view architecture) {
  for (const Family& family : kFamilies) {
    if (std::ranges::find(family.info.architectures, architecture) !=
        family.info.architectures.end()) {
      return &family;
    }
  }
  return Error{Code::unsupported, concat(files.path, ": ",
                                         files.gguf ? "metadata key general.architecture "
                                                    : "config.json: model_type ",
                                         quote(architecture), " is not supported; this build runs ",
                                         join(architecture_names()))};
}

}  // namespace

struct Model::Parts {
  weight::ModelFiles files;
  std::unique_ptr<CpuBackend> backend;
  runtime::LoadedModel loaded;  // destroyed first: it uses the others
};

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

runtime::AnyModel& Model::model() { return *parts_->loaded.model; }
const runtime::LoadedModel& Model::loaded() const { return parts_->loaded; }
const weight::ModelFiles& Model::files() const { return parts_->files; }
Status Model::check() const { return parts_->files.tensors.check(); }

Result<Model> load_model(weight::ModelFiles files, const BackendOptions& backend,
                         const runtime::LoadOptions& options) {
  ZLLM_TRY(check_backend(backend.name));
  ZLLM_TRY(const std::string name, architecture(files));
  ZLLM_TRY(const Family *const family, find_family(files, name));
  auto parts = std::make_unique<Model::Parts>();
  parts->files = std::move(files);
  ZLLM_TRY(parts->backend, CpuBackend::create({.threads = backend.threads}));
  ZLLM_TRY(parts->loaded, family->load_on_cpu(parts->files, *parts->backend, options));
  ZLLM_TRY(parts->files.tensors.check());
  return Model(std::move(parts));
}

Result<std::string> architecture(const weight::ModelFiles& files) {
  if (files.gguf) {
    auto name = files.gguf->string("general.architecture");
    if (!name.ok()) {
      return std::move(name).error().within(files.path);
    }
    if (!*name) {
      return Error{Code::invalid_file,
                   concat(files.path, ": metadata key general.architecture is missing")};
    }
    return std::string(**name);
  }
  const Json *type = files.config ? files.config->find("model_type") : nullptr;
  const std::string *name = type != nullptr ? type->as_string() : nullptr;
  if (name == nullptr) {
    return Error{Code::invalid_file,
                 concat(files.path, "/config.json: model_type must be a string")};
  }
  return *name;
}

Result<runtime::block::ModelNeeds> model_needs(const weight::ModelFiles& files,
                                               const runtime::LoadOptions& options) {
  ZLLM_TRY(const std::string name, architecture(files));
  ZLLM_TRY(const Family *const family, find_family(files, name));
  return family->needs(files, options);
}

std::vector<FamilyInfo> families() {
  std::vector<FamilyInfo> all;
  for (const Family& family : kFamilies) {
    all.push_back(family.info);
  }
  return all;
}

std::vector<std::string_view> backend_names() {
  return {std::begin(kBackends), std::end(kBackends)};
}

Status check_backend(std::string_view name) {
  if (std::ranges::find(kBackends, name) != std::end(kBackends)) {
    return {};
  }
  return Error{
      Code::invalid_argument,
      concat("backend ", quote(name), " is not in this build; it has ", join(backend_names()))};
}

std::vector<std::string_view> architecture_names() {
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) {
    for (const std::string_view name : family.info.architectures) {
      names.push_back(name);
    }
  }
  return names;
}

}  // namespace zllm::registry
