#include <zllm/weight/container/hub_folder.h>

#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/container/safetensors.h>
#include <zllm/weight/container/safetensors_index.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kWeightsName = "model.safetensors";

std::string join(const std::string& folder, std::string_view name) {
  return (std::filesystem::path(folder) / name).string();
}

// A broken link counts as present, so that opening it says what is wrong.
bool is_present(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

Result<Json> read_json_object(const std::string& path) {
  ZLLM_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  if (bytes.size() > kJsonFileLimit) {
    return Error{Code::invalid_file, concat(path, ": has ", bytes.size(),
                                            " bytes, over the limit of ", kJsonFileLimit)};
  }
  auto json = Json::parse({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, path);
  ZLLM_TRY(file.check());
  if (json.ok() && json->as_object() == nullptr) {
    return Error{Code::invalid_file,
                 concat(path, ": is of type ", json->type_name(), ", not object")};
  }
  return json;
}

// Adds all tensors of one file; index decides which it may hold, when there is one.
Status add_weights(const std::string& folder, const std::string& name,
                   const SafetensorsIndex *index, TensorTable& table) {
  const std::string path = join(folder, name);
  ZLLM_TRY(MappedFile file, MappedFile::open(path));
  auto contents = parse_safetensors(file.bytes());
  ZLLM_TRY(file.check());
  if (!contents.ok()) {
    return std::move(contents).error().within(path);
  }
  const std::size_t file_number = table.add_file(std::move(file));
  for (SafetensorsTensor& tensor : contents->tensors) {
    const std::string *listed = index == nullptr ? nullptr : index->file_of(tensor.name);
    if (index != nullptr && listed == nullptr) {
      return Error{Code::invalid_file,
                   concat(path, ": tensor ", quote(tensor.name), " is not listed in ", kIndexName)};
    }
    ZLLM_TRY(table.add({.name = std::move(tensor.name),
                        .encoding = tensor.encoding,
                        .shape = std::move(tensor.shape),
                        .bytes = tensor.bytes,
                        .file = file_number}));
  }
  return {};
}

Status add_indexed_weights(const std::string& folder, TensorTable& table) {
  const std::string path = join(folder, kIndexName);
  ZLLM_TRY(const Json json, read_json_object(path));
  auto index = SafetensorsIndex::from_json(json);
  if (!index.ok()) {
    return std::move(index).error().within(path);
  }
  const std::set<std::string> names = index->files();
  for (const std::string& name : names) {
    ZLLM_TRY(add_weights(folder, name, &*index, table));
  }
  for (const auto& [tensor, file] : index->entries()) {
    const TensorEntry *entry = table.find(tensor);
    if (entry == nullptr || table.files()[entry->file].path() != join(folder, file)) {
      return Error{Code::invalid_file, concat(path, ": tensor ", quote(tensor), " is not in ",
                                              quote(file), ", where it is listed")};
    }
  }
  return {};
}

// What a folder has instead of weights, to help with the usual mistakes.
Error no_weights(const std::string& folder) {
  std::string_view hint;
  std::error_code ignored;
  // Advanced by hand, as the range's own increment throws.
  std::filesystem::directory_iterator file(folder, ignored);
  for (; !ignored && file != std::filesystem::directory_iterator(); file.increment(ignored)) {
    const std::string extension = file->path().extension().string();
    if (extension == ".gguf") {
      hint = "; it has GGUF files: give the path of one of them";
      break;
    }
    if (extension == ".bin" || extension == ".pt" || extension == ".pth") {
      hint = "; it has PyTorch weights, which can run code when read: convert them to safetensors";
    } else if (extension == ".safetensors" && hint.empty()) {
      hint = "; it has other safetensors files, which only an index makes a model";
    }
  }
  return Error{Code::not_found,
               concat(folder, ": has neither ", kWeightsName, " nor ", kIndexName, hint)};
}

}  // namespace

Result<ModelFiles> open_hub_folder(const std::string& path) {
  ModelFiles model;
  model.path = path;
  const std::string config = join(path, "config.json");
  const bool has_index = is_present(join(path, kIndexName));
  if (!has_index && !is_present(join(path, kWeightsName))) {
    return no_weights(path);
  }
  if (!is_present(config)) {
    return Error{Code::not_found, concat(path, ": has no config.json")};
  }
  ZLLM_TRY(model.config, read_json_object(config));
  const std::string generation_config = join(path, "generation_config.json");
  if (is_present(generation_config)) {
    ZLLM_TRY(model.generation_config, read_json_object(generation_config));
  }
  if (has_index) {
    ZLLM_TRY(add_indexed_weights(path, model.tensors));
  } else {
    ZLLM_TRY(add_weights(path, std::string(kWeightsName), nullptr, model.tensors));
  }
  return model;
}

}  // namespace zllm::weight
