#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include <zllm/text/stop_strings.h>

namespace zllm::text {
namespace {

struct Outcome {
  std::string text;
  std::string stop;
};

Outcome run(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopStrings watch = *StopStrings::create(std::move(stops));
  Outcome outcome;
  for (const std::string& piece : pieces) {
    outcome.text += watch.add(piece);
  }
  outcome.text += watch.flush();
  outcome.stop = watch.stopped() ? watch.stop() : "";
  return outcome;
}

TEST(StopStrings, NothingOfAStopAcrossPiecesGoesOut) {
  const Outcome outcome = run({"DEFGHIJ"}, {"A", "BC", "DE", "FG", "HIJK", "LM"});
  EXPECT_EQ(outcome.text, "ABC");
  EXPECT_EQ(outcome.stop, "DEFGHIJ");
  EXPECT_EQ(run({"own fox"}, {"The quick", " br", "own", " fox jumps"}).text, "The quick br");
}

TEST(StopStrings, HoldsBackOnlyARealPrefix) {
  StopStrings watch = *StopStrings::create({"own fox"});
  EXPECT_EQ(watch.add("brown"), "br");
  EXPECT_EQ(watch.add("ie"), "ownie");
  EXPECT_EQ(watch.add(" o"), " ");
  EXPECT_EQ(watch.flush(), "o");
  EXPECT_FALSE(watch.stopped());
}

TEST(StopStrings, ThePartialMatchMayBeginAgainInsideItself) {
  EXPECT_EQ(run({"aab"}, {"a", "a", "a", "b"}).text, "a");
  EXPECT_EQ(run({"ababc"}, {"abab", "abc", "x"}).text, "ab");
}

TEST(StopStrings, TheFirstEndWinsThenTheLongest) {
  EXPECT_EQ(run({"abcd", "bc"}, {"xabcd"}).text, "xa");
  EXPECT_EQ(run({"c", "abc"}, {"xab", "c"}).stop, "abc");
}

TEST(StopStrings, NothingGoesOutAfterAStop) {
  StopStrings watch = *StopStrings::create({"x"});
  EXPECT_EQ(watch.add("axb"), "a");
  EXPECT_EQ(watch.add("cx"), "");
  EXPECT_EQ(watch.flush(), "");
}

TEST(StopStrings, RefusesStopsThatCannotBe) {
  EXPECT_FALSE(StopStrings::create({""}).ok());
  EXPECT_FALSE(StopStrings::create({"\xff"}).ok());
  EXPECT_FALSE(StopStrings::create({std::string(kMaxStopStringBytes + 1, 'a')}).ok());
  EXPECT_FALSE(StopStrings::create(std::vector<std::string>(kMaxStopStrings + 1, "a")).ok());
}

TEST(StopStrings, BordersOfPiecesChangeNothing) {
  std::mt19937 random(5);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const auto word = [&](std::size_t size) {
    std::string out;
    for (std::size_t i = 0; i < size; ++i) {
      out += static_cast<char>('a' + below(2));
    }
    return out;
  };
  for (int round = 0; round < 2000; ++round) {
    const std::vector<std::string> stops{word(1 + below(6)), word(1 + below(6))};
    const std::string text = word(below(24));
    std::vector<std::string> letters;
    std::vector<std::string> pieces{""};
    for (const char c : text) {
      letters.emplace_back(1, c);
      pieces.back() += c;
      if (below(3) == 0) {
        pieces.emplace_back();
      }
    }
    const Outcome expected = run(stops, letters);
    const Outcome outcome = run(stops, pieces);
    EXPECT_EQ(outcome.text, expected.text) << text;
    EXPECT_EQ(outcome.stop, expected.stop) << text;
    EXPECT_EQ(outcome.text + outcome.stop,
              text.substr(0, outcome.text.size() + outcome.stop.size()));
  }
}

}  // namespace
}  // namespace zllm::text
