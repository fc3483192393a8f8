#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/backend/capability/op_key.h>
#include <zllm/base/result.h>
#include <zllm/runtime/block/model_needs.h>
#include <zllm/runtime/load.h>
#include <zllm/weight/container/model_files.h>

// The one list of model families and backends of this build, and the way from files to a model.
namespace zllm::registry {

struct BackendOptions {
  std::string name = "cpu";
  unsigned threads = 0;  // 0 = as many as the process may use
};

// A model with all that it stands on. Movable; one thread at a time.
class Model {
 public:
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  runtime::AnyModel& model();
  const runtime::LoadedModel& loaded() const;
  const weight::ModelFiles& files() const;
  // An error when a weight file shrank under the mapping: answers since then mean nothing.
  Status check() const;

 private:
  friend Result<Model> load_model(weight::ModelFiles, const BackendOptions&,
                                  const runtime::LoadOptions&);
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// Finds the family of the files' architecture and loads it on the backend. Unknown names are
// refused with the list of known ones; what the backend does not support is refused before any
// weight loads.
Result<Model> load_model(weight::ModelFiles files, const BackendOptions& backend,
                         const runtime::LoadOptions& options);

// The architecture that the files name: model_type of config.json or general.architecture of GGUF.
Result<std::string> architecture(const weight::ModelFiles& files);

// What the model asks of any backend, known from its header. Unknown architectures are refused.
Result<runtime::block::ModelNeeds> model_needs(const weight::ModelFiles& files,
                                               const runtime::LoadOptions& options);

// A family of models that share a runtime.
struct FamilyInfo {
  std::string_view name;
  std::span<const std::string_view> architectures;
  // What it asks of a backend for weights in one encoding, whatever the files.
  std::vector<backend::OpKey> (*sample_requirements)(encoding::Encoding encoding,
                                                     const runtime::LoadOptions& options);
};
std::vector<FamilyInfo> families();

std::vector<std::string_view> backend_names();
// Refuses names of backends that this build has not, with the list of those it has.
Status check_backend(std::string_view name);
std::vector<std::string_view> architecture_names();

}  // namespace zllm::registry
