#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <zllm/base/check.h>
#include <zllm/base/json.h>
#include <zllm/weight/container/safetensors.h>
#include <zllm/weight/container/safetensors_index.h>

namespace {

void fuzz_index(std::string_view text) {
  const auto json = zllm::Json::parse(text, "index");
  if (!json.ok()) {
    return;
  }
  const auto index = zllm::weight::SafetensorsIndex::from_json(*json);
  if (!index.ok()) {
    return;
  }
  for (const auto& [tensor, file] : index->entries()) {
    ZLLM_CHECK(file.find('/') == std::string::npos, "a path in the index");
    ZLLM_CHECK(*index->file_of(tensor) == file, "a tensor that is not found");
  }
}

}  // namespace

// Whatever the bytes: an error with a message, or tensors that cover the data exactly.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  fuzz_index(std::string_view(reinterpret_cast<const char *>(data), size));
  const auto contents = zllm::weight::parse_safetensors(file);
  if (!contents.ok()) {
    ZLLM_CHECK(!contents.error().message.empty(), "an error without a message");
    return 0;
  }
  std::uint64_t covered = 0;
  for (const zllm::weight::SafetensorsTensor& tensor : contents->tensors) {
    const auto offset = static_cast<std::size_t>(tensor.bytes.data() - file.data());
    ZLLM_CHECK(offset <= size && tensor.bytes.size() <= size - offset, "bytes outside the file");
    covered += tensor.bytes.size();
  }
  ZLLM_CHECK(covered <= size - 8, "tensors that overlap");
  return 0;
}
