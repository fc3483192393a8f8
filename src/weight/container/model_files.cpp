#include <zllm/weight/container/model_files.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/container/gguf.h>
#include <zllm/weight/container/gguf_files.h>
#include <zllm/weight/container/hub_folder.h>

namespace zllm::weight {
namespace {

bool has_gguf_magic(const MappedFile& file) {
  const auto bytes = file.bytes();
  return bytes.size() >= kGgufMagic.size() &&
         std::ranges::equal(bytes.first(kGgufMagic.size()), std::as_bytes(std::span(kGgufMagic)));
}

Error not_a_model(const std::string& path, std::string_view extension) {
  if (extension == ".safetensors" || extension == ".json") {
    return Error{Code::invalid_argument,
                 concat(path, ": is one file of a model: give the folder, with its config.json")};
  }
  if (extension == ".bin" || extension == ".pt" || extension == ".pth") {
    return Error{Code::unsupported,
                 concat(path,
                        ": PyTorch weights can run code when read: convert them to "
                        "safetensors")};
  }
  return Error{Code::invalid_file,
               concat(path,
                      ": is neither a GGUF file nor a folder with config.json and "
                      "safetensors weights")};
}

}  // namespace

Result<ModelFiles> open_model(const std::string& path) {
  if (path.find('\0') != std::string::npos) {
    return Error{Code::invalid_argument, concat("path ", quote(path), " contains a zero byte")};
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return open_hub_folder(path);
  }
  const std::string extension = std::filesystem::path(path).extension().string();
  {
    ZLLM_TRY(const MappedFile file, MappedFile::open(path));
    if (!has_gguf_magic(file) && extension != ".gguf") {
      return not_a_model(path, extension);
    }
  }
  return open_gguf_files(path);
}

}  // namespace zllm::weight
