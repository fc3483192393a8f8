#include "tensor_output.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

namespace zllm::commands {
namespace {

// safetensors allows spaces after the header; tensors then start on a multiple of this.
constexpr std::size_t kAlignment = 8;

std::string header(const std::vector<OutputTensor>& tensors) {
  std::string text = "{";
  std::uint64_t offset = 0;
  for (const OutputTensor& tensor : tensors) {
    text += text.size() == 1 ? "" : ",";
    append_json_string(text, tensor.name);
    text += concat(":{\"dtype\":\"", tensor.dtype, "\",\"shape\":[");
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      text += concat(i == 0 ? "" : ",", tensor.shape[i]);
    }
    const std::uint64_t end = offset + tensor.bytes.size();
    text += concat("],\"data_offsets\":[", offset, ",", end, "]}");
    offset = end;
  }
  text += "}";
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

std::array<char, 8> little_endian(std::uint64_t value) {
  std::array<char, 8> bytes{};
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

// A regular file that could not be written to its end is removed again.
Status write_to(const std::string& path, const std::vector<OutputTensor>& tensors) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  const std::string text = header(tensors);
  const auto length = little_endian(text.size());
  file.write(length.data(), length.size());
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  for (const OutputTensor& tensor : tensors) {
    file.write(reinterpret_cast<const char *>(tensor.bytes.data()),
               static_cast<std::streamsize>(tensor.bytes.size()));
  }
  file.close();
  if (!file) {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {
      std::filesystem::remove(path, ignored);
    }
    return Error{Code::io, concat("cannot write ", quote(path))};
  }
  return {};
}

}  // namespace

Status write_safetensors(const std::string& path, const std::vector<OutputTensor>& tensors) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  if (kind == std::filesystem::file_type::directory) {
    return Error{Code::io, concat("cannot write ", quote(path), ": it is a directory")};
  }
  const bool exists =
      kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::none;
  if (exists && kind != std::filesystem::file_type::regular) {
    return write_to(path, tensors);  // a device or FIFO must not be replaced by a file
  }
  // A link stays, and the file that it leads to is replaced.
  std::error_code error;
  const std::string target = exists ? std::filesystem::canonical(path, error).string() : path;
  if (error) {
    return Error{Code::io, concat("cannot write ", quote(path), ": ", error.message())};
  }
  const std::string unfinished = target + ".part";
  ZLLM_TRY(write_to(unfinished, tensors));
  if (std::rename(unfinished.c_str(), target.c_str()) != 0) {
    std::remove(unfinished.c_str());
    return Error{Code::io, concat("cannot write ", quote(path))};
  }
  return {};
}

}  // namespace zllm::commands
