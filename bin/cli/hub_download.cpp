#include "hub_download.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>

#include "output.h"
#include "sha256.h"
#include "subprocess.h"

namespace zllm::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kListName = ".files.json";  // the Hub's answer, kept while fetching
constexpr std::size_t kHubNameLimit = 96;              // the Hub's own limit of each half
constexpr std::size_t kListLimit = std::size_t{64} << 20;

// Besides weights: what a model's folder needs to run.
constexpr std::array<std::string_view, 8> kWanted = {
    "config.json",           "generation_config.json",      "tokenizer.json",
    "tokenizer_config.json", "special_tokens_map.json",     "chat_template.jinja",
    "chat_template.json",    "model.safetensors.index.json"};

struct HubFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<std::string> sha256;
};

bool is_wanted(std::string_view path) {
  // Files in folders of the repository are other formats of the same weights.
  return path.find('/') == std::string_view::npos &&
         (path.ends_with(".safetensors") || std::ranges::find(kWanted, path) != kWanted.end());
}

Result<std::string> hub_address() {
  const char *address = std::getenv("HF_ENDPOINT");
  if (address == nullptr || address[0] == '\0') {
    return Error{Code::invalid_argument,
                 "the environment variable HF_ENDPOINT does not name the Hub's address"};
  }
  std::string text = address;
  while (text.ends_with('/')) {
    text.pop_back();
  }
  if (!text.starts_with("http://") && !text.starts_with("https://")) {
    return Error{Code::invalid_argument,
                 concat("HF_ENDPOINT ", quote(text), " is no http or https address")};
  }
  return text;
}

// Appends to what is there already.
Status fetch(const std::string& url, const fs::path& path, std::uint64_t total,
             const std::string& label) {
  StatusLine line;
  Status status =
      run_program({"curl", "--fail", "--location", "--silent", "--show-error", "--globoff",
                   "--retry", "3", "--continue-at", "-", "--output", path.string(), "--", url},
                  [&] {
                    std::error_code error;
                    const std::uintmax_t size = fs::file_size(path, error);
                    line.show_progress(label, error ? 0 : size, total);
                  });
  return status.ok() ? std::move(status) : Status(std::move(status).error().within(label));
}

Result<HubFile> read_entry(const Json& entry, std::string_view list) {
  const Json *path = entry.find("path");
  const Json *size = entry.find("size");
  HubFile file;
  if (path == nullptr || path->as_string() == nullptr || size == nullptr ||
      !size->as_unsigned(file.bytes)) {
    return Error{Code::invalid_file, concat(list, ": an entry has no path or size")};
  }
  file.name = *path->as_string();
  const Json *lfs = entry.find("lfs");
  const Json *hash = lfs == nullptr ? nullptr : lfs->find("oid");
  if (hash != nullptr && hash->as_string() != nullptr) {
    file.sha256 = *hash->as_string();
  }
  return file;
}

Result<std::vector<HubFile>> read_list(const std::string& path) {
  ZLLM_TRY(const MappedFile mapped, MappedFile::open(path));
  if (mapped.bytes().size() > kListLimit) {
    return Error{Code::invalid_file, concat(path, ": is too large")};
  }
  const std::string text(reinterpret_cast<const char *>(mapped.bytes().data()),
                         mapped.bytes().size());
  ZLLM_TRY(const Json json, Json::parse(text, "the Hub's list of files"));
  if (json.as_array() == nullptr) {
    return Error{Code::invalid_file, "the Hub's list of files is not an array"};
  }
  std::vector<HubFile> files;
  for (const Json& entry : *json.as_array()) {
    ZLLM_TRY(HubFile file, read_entry(entry, "the Hub's list of files"));
    if (is_wanted(file.name)) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

bool has_size(const fs::path& path, std::uint64_t bytes) {
  std::error_code error;
  return fs::file_size(path, error) == bytes && !error;
}

Status fetch_file(const std::string& base, const fs::path& folder, const HubFile& file) {
  const fs::path path = folder / file.name;
  if (!has_size(path, file.bytes)) {
    ZLLM_TRY(fetch(concat(base, "/resolve/main/", file.name), path, file.bytes, file.name));
  }
  if (!has_size(path, file.bytes)) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return Error{Code::invalid_file,
                 concat(path.string(), ": has not the ", file.bytes, " bytes of the Hub's list")};
  }
  if (!file.sha256) {
    return {};
  }
  ZLLM_TRY(const std::string hash, sha256_of_file(path.string()));
  if (hash != *file.sha256) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return Error{Code::invalid_file, concat(path.string(),
                                            ": its SHA-256 is not that of the "
                                            "Hub's list; it was removed")};
  }
  return {};
}

Status fetch_all(const std::string& address, const std::string& name, const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return Error{Code::io, concat(folder.string(), ": cannot be made: ", error.message())};
  }
  const fs::path list = folder / kListName;
  fs::remove(list, error);
  ZLLM_TRY(fetch(concat(address, "/api/models/", name, "/tree/main?recursive=true"), list, 0,
                 concat("files of ", name)));
  ZLLM_TRY(const std::vector<HubFile> files, read_list(list.string()));
  const auto is_weights = [](const HubFile& file) { return file.name.ends_with(".safetensors"); };
  if (std::ranges::none_of(files, is_weights)) {
    return Error{Code::not_found, concat(name, ": has no safetensors files")};
  }
  for (const HubFile& file : files) {
    ZLLM_TRY(fetch_file(concat(address, "/", name), folder, file));
  }
  fs::remove(list, error);
  return {};
}

}  // namespace

bool is_hub_name(std::string_view name) {
  const std::size_t slash = name.find('/');
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part.size() <= kHubNameLimit && part[0] != '.' && part[0] != '-' &&
           std::ranges::all_of(part, [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '-' || c == '_' || c == '.';
           });
  };
  return slash != std::string_view::npos && is_part(name.substr(0, slash)) &&
         is_part(name.substr(slash + 1));
}

std::string hub_model_path(const std::string& models_folder, std::string_view name) {
  std::string folder(name);
  folder.replace(folder.find('/'), 1, "--");  // as the Hub's own cache joins them
  return (fs::path(models_folder) / folder).string();
}

Result<std::string> pull_hub_model(const std::string& models_folder, const std::string& name) {
  const std::string path = hub_model_path(models_folder, name);
  std::error_code error;
  if (fs::exists(path, error)) {
    return path;
  }
  ZLLM_TRY(const std::string address, hub_address());
  const std::string part = path + ".part";
  ZLLM_TRY(fetch_all(address, name, part));
  fs::rename(part, path, error);
  if (error) {
    return Error{Code::io, concat(path, ": cannot be written: ", error.message())};
  }
  return path;
}

}  // namespace zllm::cli
