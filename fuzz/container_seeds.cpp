#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "testing/gguf_builder.h"
#include "testing/safetensors_builder.h"

namespace {

using zllm::weight::testing::GgufBuilder;
using zllm::weight::testing::raw;
using zllm::weight::testing::safetensors_file;
using zllm::weight::testing::sample_gguf;
using zllm::weight::testing::sample_safetensors;

void write(const std::filesystem::path& path, std::string_view content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

void write_gguf(const std::filesystem::path& folder) {
  GgufBuilder file = sample_gguf();
  write(folder / "every_type", file.build());
  file.version = 2;
  file.data_reversed = true;
  write(folder / "version_2_reversed", file.build());
  write(folder / "empty", GgufBuilder().build());
  GgufBuilder aligned;
  aligned.alignment = 64;
  aligned.u32("general.alignment", 64)
      .tensor({.name = "a", .dimensions = {256}, .type = 12, .data = std::string(144, 'a')})
      .tensor({.name = "b", .dimensions = {2, 2}, .type = 30, .data = std::string(8, 'b')});
  write(folder / "aligned", aligned.build());
  write(folder / "split", GgufBuilder()
                              .key("split.no", 2, raw<std::uint16_t>(0))
                              .key("split.count", 2, raw<std::uint16_t>(2))
                              .key("split.tensors.count", 5, raw<std::int32_t>(3))
                              .build());
}

void write_safetensors(const std::filesystem::path& folder) {
  write(folder / "sample", sample_safetensors());
  write(folder / "empty", safetensors_file("{}", ""));
  write(folder / "two",
        safetensors_file(R"({"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[2,4]},)"
                         R"("b":{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}})",
                         "bbaa"));
  write(folder / "index",
        R"({"metadata":{"total_size":1},"weight_map":{"a":"model-00001-of-00001.safetensors"}})");
}

}  // namespace

int main(int argument_count, char **arguments) {
  if (argument_count != 2) {
    std::fputs("usage: container_seeds <corpus folder>\n", stderr);
    return 2;
  }
  const std::filesystem::path corpus = arguments[1];
  write_gguf(corpus / "gguf");
  write_safetensors(corpus / "safetensors");
  return 0;
}
