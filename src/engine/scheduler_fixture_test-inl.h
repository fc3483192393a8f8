#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zllm/engine/alone_test-inl.h>
#include <zllm/engine/scheduler.h>
#include <zllm/engine/scheduler_model_test-inl.h>

// A scheduler without a thread; included by tests alone.
namespace zllm::engine {

// What a reader has seen of a request.
struct Asked {
  std::shared_ptr<EventBuffer> events;
  std::unique_ptr<Stream> stream;
  std::optional<PromptRead> prompt_read = {};
  std::vector<std::vector<TokenId>> tokens = {};  // of each choice
  std::vector<std::vector<bool>> is_forced = {};
  std::vector<std::vector<sampling::LogProbabilities>> scores = {};
  std::vector<std::optional<ChoiceFinished>> finished = {};
  std::optional<Ended> ended = {};

  // Reads at most `most` events.
  void read(std::size_t most = SIZE_MAX) {
    for (; most != 0; --most) {
      std::optional<Event> event = stream->try_next();
      if (!event) {
        return;
      }
      EXPECT_FALSE(ended) << "an event after the end";
      std::visit([this](auto& seen) { note(std::move(seen)); }, *event);
    }
  }

  void note(PromptRead seen) {
    EXPECT_FALSE(prompt_read) << "the prompt read twice";
    prompt_read = std::move(seen);
  }
  void note(TokenChosen seen) {
    EXPECT_TRUE(prompt_read) << "a token before the prompt was read";
    EXPECT_FALSE(finished.at(seen.choice)) << "a token of a choice that finished";
    tokens.at(seen.choice).push_back(seen.token);
    is_forced.at(seen.choice).push_back(seen.is_forced);
    if (seen.log_probabilities) {
      scores.at(seen.choice).push_back(*std::move(seen.log_probabilities));
    }
  }
  void note(ChoiceFinished seen) {
    EXPECT_FALSE(finished.at(seen.choice)) << "a choice finished twice";
    finished.at(seen.choice) = seen;
  }
  void note(Ended seen) { ended = std::move(seen); }

  FinishReason reason(std::size_t choice = 0) const { return finished.at(choice).value().reason; }
  std::string failure() const {
    return ended && ended->failure ? ended->failure->error.message : std::string();
  }
};

template <class Model>
class SchedulerBench {
 public:
  explicit SchedulerBench(hashed::Sizes sizes = {}, LoopOptions options = {}) : model(sizes) {
    model.before_round = [this](const runtime::Round& round) {
      rounds.push_back(round);
      return before_round ? before_round(round) : Status();
    };
    buffered_events_ = options.buffered_events;
    if (options.prefill_rows == 0) {
      options.prefill_rows = sizes.rows;  // what rounds hold is not a matter of time here
    }
    capacity_rows = model.states().free_rows();
    auto cache = PrefixCache::create(model, options.prefix_cache);
    EXPECT_TRUE(cache.ok());
    scheduler.emplace(model, std::move(*cache), std::move(options),
                      [this](const Statistics& seen) { statistics = seen; });
  }

  Asked ask(Request request) {
    auto events = std::make_shared<EventBuffer>(buffered_events_ * request.choices, signal_);
    Asked asked{.events = events, .stream = make_stream(events)};
    asked.tokens.resize(request.choices);
    asked.is_forced.resize(request.choices);
    asked.scores.resize(request.choices);
    asked.finished.resize(request.choices);
    scheduler->accept(std::make_unique<Job>(next_id_++, std::move(request), events));
    return asked;
  }

  bool step() { return scheduler->step(now); }
  void run(std::size_t steps = 10000) {
    while (step()) {
      ASSERT_NE(steps--, 0u) << "the scheduler does not come to an end";
    }
  }

  Model model;
  std::function<Status(const runtime::Round&)> before_round;
  std::vector<runtime::Round> rounds;  // submitted, failed ones too
  std::optional<Scheduler> scheduler;
  Statistics statistics;
  Clock::time_point now = {};
  std::uint64_t capacity_rows = 0;

 private:
  std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::size_t buffered_events_ = 0;
  std::uint64_t next_id_ = 1;
};

inline std::vector<TokenId> some_tokens(std::size_t count, std::uint64_t seed) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<TokenId>(runtime::toy::chain(seed * 7919 + i, 5) % 24));
  }
  return tokens;
}

inline Request plain_request(std::vector<TokenId> prompt, std::uint64_t max_tokens,
                             std::uint64_t seed = 0) {
  Request request;
  request.prompt = std::move(prompt);
  request.max_tokens = max_tokens;
  request.sampling.seed = seed;
  return request;
}

}  // namespace zllm::engine
