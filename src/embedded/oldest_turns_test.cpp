#include <zllm/embedded/oldest_turns.h>

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zllm {
namespace {

// One letter a message: s and d guide, u asks, a answers, c calls, r is the result of the last call
// and R of the first one.
Conversation conversation_of(std::string_view letters) {
  Conversation out;
  int calls = 0;
  for (const char letter : letters) {
    Message message{.content = std::string(1, letter)};
    switch (letter) {
      case 's':
        message.role = Role::system;
        break;
      case 'd':
        message.role = Role::developer;
        break;
      case 'u':
        message.role = Role::user;
        break;
      case 'r':
      case 'R':
        message.role = Role::tool;
        message.tool_call_id = std::to_string(letter == 'R' ? 1 : calls);
        break;
      default:
        message.role = Role::assistant;
        if (letter == 'c') {
          message.tool_calls = {{.id = std::to_string(++calls), .name = "f", .arguments = "{}"}};
        }
    }
    out.messages.push_back(std::move(message));
  }
  return out;
}

std::vector<std::string> shortened(std::string_view letters) {
  const Conversation whole = conversation_of(letters);
  const OldestTurns turns(whole);
  std::vector<std::string> out;
  for (std::size_t count = 0; count <= turns.count(); ++count) {
    std::string left;
    for (const Message& message : turns.without(count).messages) {
      left += *message.content;
    }
    out.push_back(left);
  }
  return out;
}

using Lines = std::vector<std::string>;

TEST(OldestTurns, TurnsGoWithAllThatFollowedThem) {
  EXPECT_EQ(shortened("suauauu"), (Lines{"suauauu", "suauu", "suu", "su"}));
  EXPECT_EQ(shortened("sucraua"), (Lines{"sucraua", "sua"}));
  EXPECT_EQ(shortened("auau"), (Lines{"auau", "uau", "u"}));
}

TEST(OldestTurns, GuidanceStaysWhereItIs) {
  EXPECT_EQ(shortened("suadau"), (Lines{"suadau", "sdu"}));
  EXPECT_EQ(shortened("sd"), (Lines{"sd"}));
}

TEST(OldestTurns, AfterTheLastQuestionCallsGoWithTheirResults) {
  EXPECT_EQ(shortened("uaucrcrracr"),
            (Lines{"uaucrcrracr", "ucrcrracr", "ucrracr", "uacr", "ucr"}));
  EXPECT_EQ(shortened("ucrcr"), (Lines{"ucrcr", "ucr"}));
  EXPECT_EQ(shortened("ucra"), (Lines{"ucra", "ua"}));
}

TEST(OldestTurns, ALateResultGoesWithItsCall) {
  EXPECT_EQ(shortened("ucuRau"), (Lines{"ucuRau", "uau", "u"}));
  EXPECT_EQ(shortened("ucuauR"), (Lines{"ucuauR", "ucuR"}));
}

TEST(OldestTurns, WithoutAUserAnswersGoOneByOne) {
  EXPECT_EQ(shortened("aacr"), (Lines{"aacr", "acr", "cr"}));
  EXPECT_EQ(shortened(""), (Lines{""}));
}

}  // namespace
}  // namespace zllm
