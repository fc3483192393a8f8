#include <optional>
#include <string>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/container/model_files.h>

#include "model_test.h"

// What a stage refuses to take.
namespace zllm::test {
namespace {

using runtime::Boundary;
using runtime::Round;

class StageInputTest : public ModelTest {
 protected:
  StageInputTest() : whole_(load_fixture(fixture_)) {}

  std::uint32_t layers() { return whole_.model().info().layers; }

  registry::Model stage(std::uint32_t first, std::uint32_t end) const {
    return load_fixture(fixture_, {.stage = {.first = first, .end = end}});
  }

  Round round(SequenceId id) const {
    return Round{{segment_of({.sequence = id, .start = 0, .tokens = tokens(0, 5)})}};
  }

  // What the layers before `end` give for the rows of round().
  Boundary boundary_at(std::uint32_t end) const {
    registry::Model first = stage(0, end);
    const auto output = first.model().submit(round(create(first.model())));
    EXPECT_TRUE(output.ok()) << output.error().message;
    return *output->boundary;
  }

  // The message with which a stage refuses the input; "" when it takes it.
  std::string refusal(registry::Model& stage, std::optional<Boundary> input) const {
    const SequenceId id = create(stage.model());
    Round asked = round(id);
    asked.input = std::move(input);
    const auto output = stage.model().submit(asked);
    EXPECT_EQ(*stage.model().states().rows(id), 0U);
    if (output.ok()) {
      EXPECT_TRUE(stage.model().states().rollback(id).ok());
    }
    EXPECT_TRUE(stage.model().states().release(id).ok());
    return output.ok() ? "" : output.error().message;
  }

  registry::Model whole_;
};

void expect_says(const std::string& message, const std::string& words) {
  EXPECT_NE(message.find(words), std::string::npos) << quote(message);
}

TEST_P(StageInputTest, WrongInputIsRefusedByName) {
  const Boundary good = boundary_at(1);
  registry::Model second = stage(1, layers());
  expect_says(refusal(second, std::nullopt), "there is none, but the stage starts with layer 1");
  Boundary narrow = good;
  narrow.hidden -= 1;
  expect_says(refusal(second, narrow), "where the stage takes");
  Boundary streams = good;
  streams.streams += 1;
  expect_says(refusal(second, streams), "streams of");
  Boundary few = good;
  few.values.resize(few.values.size() - std::size_t{few.streams} * few.hidden);
  few.selection.reset();
  expect_says(refusal(second, few), "4 rows for a round of 5");
  EXPECT_EQ(refusal(second, good), "");
  registry::Model first = stage(0, 1);
  expect_says(refusal(first, good), "there is one, but the stage starts with the embedding");
}

// A stage needs the selection exactly where the boundary behind the layers before it carries one.
TEST_P(StageInputTest, AMissingSelectionIsRefusedByName) {
  for (std::uint32_t cut = 1; cut < layers(); ++cut) {
    Boundary boundary = boundary_at(cut);
    if (!boundary.selection) {
      continue;
    }
    registry::Model next = stage(cut, layers());
    EXPECT_EQ(refusal(next, boundary), "");
    boundary.selection.reset();
    const std::string message = refusal(next, boundary);
    if (!message.empty()) {
      expect_says(message, "no selection, which the stage from layer " + std::to_string(cut));
    }
  }
}

TEST_P(StageInputTest, ARangeWithoutLayersIsRefused) {
  auto files = weight::open_model(fixture_.path);
  ASSERT_TRUE(files.ok());
  const auto model = registry::load_model(*std::move(files), {},
                                          {.stage = {.first = layers(), .end = layers() + 1}});
  EXPECT_FALSE(model.ok());
}

INSTANTIATE_TEST_SUITE_P(Fixtures, StageInputTest, testing::ValuesIn(stageable_fixture_names()),
                         fixture_suffix);

}  // namespace
}  // namespace zllm::test
