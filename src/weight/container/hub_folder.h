#pragma once

#include <string>

#include <zllm/base/result.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

// config.json and the like; the largest known has 200 KB.
constexpr std::size_t kJsonFileLimit = 100'000'000;

// Opens a Hub-layout folder. Files may be symbolic links, as in the Hub's cache.
Result<ModelFiles> open_hub_folder(const std::string& path);

}  // namespace zllm::weight
