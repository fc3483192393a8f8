#include "tiny_model.h"

#include <fstream>
#include <string_view>

#include <unistd.h>

#include <gtest/gtest.h>

#include <zllm/base/text.h>

namespace zllm::test {
namespace {

// Id 2 ends an answer, as the configs of the fixtures say.
constexpr std::string_view kControl[] = {"<|pad|>", "<|im_start|>", "<|im_end|>"};
constexpr std::string_view kCharacters = " abcdefghijklmnopqrstuvwxyz0123456789{}[]\":,.-_+?!/'();";
constexpr std::string_view kSpace = "\xC4\xA0";  // as byte-level vocabularies spell it

std::string spelling(char character) {
  return character == ' '   ? std::string(kSpace)
         : character == '"' ? std::string("\\\"")
                            : std::string(1, character);
}

std::string tokenizer_json() {
  std::string added;
  std::string vocabulary;
  int id = 0;
  for (const std::string_view control : kControl) {
    added += concat(id == 0 ? "" : ",", R"({"id":)", id, R"(,"content":")", control,
                    R"(","single_word":false,"lstrip":false,"rstrip":false,)",
                    R"("normalized":false,"special":true})");
    vocabulary += concat(id == 0 ? "" : ",", "\"", control, "\":", id);
    ++id;
  }
  for (const char character : kCharacters) {
    vocabulary += concat(",\"", spelling(character), "\":", id);
    ++id;
  }
  return concat(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)", added,
                R"(],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel",)",
                R"("add_prefix_space":false,"trim_offsets":true,"use_regex":false},)",
                R"("post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,)",
                R"("trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,)",
                R"("unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,)",
                R"("fuse_unk":false,"byte_fallback":false,"vocab":{)", vocabulary,
                R"(},"merges":[]}})");
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  EXPECT_TRUE(file.good()) << path;
}

}  // namespace

TinyModel::TinyModel(const std::string& fixture)
    : folder_(std::filesystem::path(testing::TempDir()) / concat(fixture, "-", ::getpid())) {
  const auto source = std::filesystem::absolute("test/fixtures/models") / fixture;
  std::filesystem::create_directories(folder_);
  for (const char *name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy_file(source / name, folder_ / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  write(folder_ / "tokenizer.json", tokenizer_json());
  write(folder_ / "tokenizer_config.json",
        R"({"eos_token":"<|im_end|>","tokenizer_class":"PreTrainedTokenizerFast"})");
}

TinyModel::~TinyModel() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const char *TinyModel::chat_template() {
  return "{% for m in messages %}<|im_start|>{{ m.role }}:{{ m.content }}<|im_end|>{% endfor %}"
         "{% if add_generation_prompt %}<|im_start|>assistant:{% endif %}";
}

}  // namespace zllm::test
