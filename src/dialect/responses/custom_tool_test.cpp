#include <zllm/dialect/responses/custom_tool.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace zllm::dialect::responses {
namespace {

TEST(CustomInput, IsTheSameHoweverItIsCut) {
  const std::string_view arguments = R"({"input": "a \"b\"\n\u00e9 \ud83d\ude00\\ }"})";
  const std::string expected = "a \"b\"\n\u00e9 \U0001F600\\ }";
  for (std::size_t cut = 0; cut <= arguments.size(); ++cut) {
    CustomInput input;
    std::string told = input.add(arguments.substr(0, cut));
    told += input.add(arguments.substr(cut));
    EXPECT_EQ(told, expected) << cut;
  }
  CustomInput one_by_one;
  std::string told;
  for (const char letter : arguments) {
    told += one_by_one.add(std::string_view(&letter, 1));
  }
  EXPECT_EQ(told, expected);
}

TEST(CustomInput, HalfAPairIsNoCharacter) {
  EXPECT_EQ(CustomInput().add(R"({"input": "\ud83dx\ude00"})"), "\uFFFDx\uFFFD");
}

TEST(CustomInput, ReadsWhatWasWrittenForIt) {
  const std::string text = "line\n\t\"quoted\" \\ \u00e9";
  EXPECT_EQ(CustomInput().add(custom_arguments(text)), text);
}

}  // namespace
}  // namespace zllm::dialect::responses
