#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <zllm/base/text.h>
#include <zllm/text/tokenizer_files.h>

namespace zllm::text {
namespace {

class TokenizerFilesTest : public ::testing::Test {
 protected:
  TokenizerFilesTest()
      : folder_(std::filesystem::temp_directory_path() /
                concat(::testing::UnitTest::GetInstance()->current_test_info()->name(), "-",
                       ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::filesystem::copy_file("test/fixtures/text/byte_level.tokenizer.json",
                               folder_ / "tokenizer.json");
  }
  ~TokenizerFilesTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Result<TokenizerFiles> load() const { return load_tokenizer_files(folder_.string()); }

  std::filesystem::path folder_;
};

TEST_F(TokenizerFilesTest, TokenizerJsonAloneIsEnough) {
  const TokenizerFiles files = *load();
  EXPECT_FALSE(files.chat_template.has_value());
  EXPECT_EQ(files.tokenizer.begin_tokens().size(), 1U);
}

TEST_F(TokenizerFilesTest, ConfigurationNamesBeginEndAndTemplate) {
  write("tokenizer_config.json",
        R"({"add_bos_token": false, "bos_token": {"content": "<|im_start|>"},)"
        R"("eos_token": "<|im_end|>", "chat_template": [{"name": "rag", "template": "r"},)"
        R"({"name": "default", "template": "d"}]})");
  const TokenizerFiles files = *load();
  EXPECT_TRUE(files.tokenizer.begin_tokens().empty());
  EXPECT_EQ(files.tokenizer.begin_of_sequence(), files.tokenizer.id_of("<|im_start|>"));
  EXPECT_EQ(files.tokenizer.end_tokens().front(), *files.tokenizer.id_of("<|im_end|>"));
  EXPECT_EQ(files.chat_template, "d");
  write("chat_template.jinja", "file");
  EXPECT_EQ(load()->chat_template, "file");
}

TEST_F(TokenizerFilesTest, ErrorsNameTheFile) {
  write("tokenizer_config.json", "{");
  EXPECT_NE(load().error().message.find("tokenizer_config.json"), std::string::npos);
  std::filesystem::remove(folder_ / "tokenizer.json");
  EXPECT_NE(load().error().message.find("tokenizer.json"), std::string::npos);
  write("tokenizer.json", "{}");
  EXPECT_NE(load().error().message.find("tokenizer.json"), std::string::npos);
}

}  // namespace
}  // namespace zllm::text
