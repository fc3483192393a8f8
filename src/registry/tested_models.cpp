#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/registry/capability_matrix.h>
#include <zllm/registry/embedded_files.h>

namespace zllm::registry {
namespace {

Error defect(std::string_view file, std::string_view what) {
  return Error{Code::invalid_file, concat(file, ": ", what)};
}

Result<TestedModel> read_model(const Json::Member& member, std::string_view file) {
  TestedModel model{.architecture = member.first, .encodings = {}};
  if (member.second.as_array() == nullptr) {
    return defect(file, concat(quote(member.first), " must be a list of encodings"));
  }
  for (const Json& item : *member.second.as_array()) {
    const std::string *const name = item.as_string();
    const auto encoding = name != nullptr ? encoding::encoding_named(*name) : std::nullopt;
    if (!encoding) {
      return defect(file, concat(quote(member.first), " names no encoding"));
    }
    model.encodings.push_back(*encoding);
  }
  return model;
}

}  // namespace

Result<std::vector<TestedModel>> tested_models() {
  std::vector<TestedModel> models;
  for (const EmbeddedFile& file : embedded_model_records()) {
    ZLLM_TRY(const Json document, Json::parse(file.text, file.name));
    if (document.as_object() == nullptr) {
      return defect(file.name, "must be an object");
    }
    for (const Json::Member& member : *document.as_object()) {
      ZLLM_TRY(TestedModel model, read_model(member, file.name));
      models.push_back(std::move(model));
    }
  }
  return models;
}

}  // namespace zllm::registry
