#include "model_location.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <zllm/base/text.h>

#include "default_model.h"
#include "hub_download.h"

namespace zllm::cli {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

Result<std::string> models_folder() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  // The XDG specification says that a relative path is to be ignored.
  if (cache != nullptr && cache[0] == '/') {
    return concat(cache, "/zllm/models");
  }
  const char *home = std::getenv("HOME");
  if (home == nullptr || home[0] == '\0') {
    return Error{Code::not_found,
                 "neither XDG_CACHE_HOME nor HOME is set, so there is no place for models"};
  }
  return concat(home, "/.cache/zllm/models");
}

Result<std::string> locate_model(const std::string& name) {
  if (!name.empty() && exists(name)) {
    return name;
  }
  const Result<std::string> folder = models_folder();
  if (name.empty() || name == kDefaultModelName) {
    if (!folder.ok()) {
      return Error{folder.error()};
    }
    if (has_default_model(*folder)) {
      return default_model_path(*folder);
    }
    return Error{Code::not_found,
                 "the default model is not here yet: run 'zllm pull', or give --model PATH"};
  }
  if (folder.ok() && is_hub_name(name)) {
    const std::string pulled = hub_model_path(*folder, name);
    if (exists(pulled)) {
      return pulled;
    }
    return Error{Code::not_found,
                 concat(name, ": no such file or folder, and no model of that name was pulled")};
  }
  return Error{Code::not_found, concat(name, ": no such file or folder")};
}

}  // namespace zllm::cli
