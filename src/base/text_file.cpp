#include <zllm/base/text_file.h>

#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>

namespace zllm {

Result<std::string> read_text_file(const std::string& path, std::size_t limit) {
  ZLLM_TRY(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() > limit) {
    return Error{Code::invalid_file,
                 concat(path, ": has ", bytes.size(), " bytes, over the limit of ", limit)};
  }
  std::string text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  ZLLM_TRY(file.check());
  return text;
}

}  // namespace zllm
