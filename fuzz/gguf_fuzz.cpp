#include <cstddef>
#include <cstdint>
#include <span>

#include <zllm/base/check.h>
#include <zllm/weight/container/gguf.h>
#include <zllm/weight/container/gguf_split.h>

// Whatever the bytes: an error with a message, or contents that lie within them.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  using namespace zllm;
  const auto file = std::as_bytes(std::span(data, size));
  const auto contents = weight::parse_gguf(file);
  if (!contents.ok()) {
    ZLLM_CHECK(!contents.error().message.empty(), "an error without a message");
    return 0;
  }
  for (const weight::GgufTensor& tensor : contents->tensors) {
    const auto offset = static_cast<std::size_t>(tensor.bytes.data() - file.data());
    ZLLM_CHECK(offset <= size && tensor.bytes.size() <= size - offset, "bytes outside the file");
    std::uint64_t elements = 1;
    for (const std::uint64_t dimension : tensor.shape) {
      elements *= dimension;
    }
    const encoding::EncodingInfo& format = encoding::info(tensor.encoding);
    ZLLM_CHECK(elements / format.block_elements * format.block_bytes == tensor.bytes.size(),
               "bytes of another size than the shape's");
  }
  const weight::GgufMetadata& metadata = contents->metadata;
  for (const auto& [key, value] : metadata.items()) {
    ZLLM_CHECK(metadata.find(key) == &value, "a key that is not found");
    static_cast<void>(metadata.unsigned_integer(key).ok());
    static_cast<void>(metadata.number(key).ok());
    static_cast<void>(metadata.boolean(key).ok());
    static_cast<void>(metadata.string(key).ok());
    static_cast<void>(metadata.strings(key).ok());
    static_cast<void>(metadata.integers(key).ok());
    static_cast<void>(metadata.numbers(key).ok());
    static_cast<void>(metadata.booleans(key).ok());
  }
  static_cast<void>(weight::read_gguf_split(metadata).ok());
  return 0;
}
