#pragma once

#include <deque>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/embedded/answer.h>
#include <zllm/embedded/event.h>
#include <zllm/engine/stream.h>
#include <zllm/text/tokenizer.h>

// What tests of answers stand on: a small tokenizer, and a stream that gives what it was told to.
namespace zllm::testing {

inline text::Tokenizer small_tokenizer(const std::string& name = "byte_level") {
  std::ifstream file("test/fixtures/text/" + name + ".tokenizer.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return *text::Tokenizer::from_json(json);
}

class ScriptedStream final : public engine::Stream {
 public:
  struct Notes {
    std::vector<std::uint32_t> cancelled_choices;
    bool is_cancelled = false;
  };

  ScriptedStream(std::vector<engine::Event> events, Notes& notes)
      : events_(std::make_move_iterator(events.begin()), std::make_move_iterator(events.end())),
        notes_(notes) {}

  std::optional<engine::Event> next() override { return try_next(); }
  std::optional<engine::Event> try_next() override {
    if (events_.empty()) {
      return std::nullopt;
    }
    engine::Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  void set_notifier(std::function<void()> notifier) override {
    if (notifier) {
      notifier();
    }
  }
  void cancel() override { notes_.is_cancelled = true; }
  void cancel_choice(std::uint32_t choice) override { notes_.cancelled_choices.push_back(choice); }

 private:
  std::deque<engine::Event> events_;
  Notes& notes_;
};

// One choice whose tokens spell the text, control tokens parsed; log_probability: of every token.
inline std::vector<engine::Event> tokens_of(const text::Tokenizer& tokenizer, std::string_view text,
                                            std::uint32_t choice = 0,
                                            std::optional<double> log_probability = {}) {
  std::vector<engine::Event> events;
  const std::vector<TokenId> tokens = *tokenizer.encode(text, {.parse_special = true});
  for (const TokenId token : tokens) {
    engine::TokenChosen chosen{.choice = choice, .token = token};
    if (log_probability) {
      chosen.log_probabilities = sampling::LogProbabilities{
          .chosen = {.token = token, .log_probability = *log_probability}, .top = {}};
    }
    events.emplace_back(std::move(chosen));
  }
  return events;
}

// What was told of one choice.
struct Told {
  std::string content;
  std::string reasoning;
  std::vector<std::pair<std::string, std::string>> calls;  // name and arguments
  std::vector<std::string> call_ids;
  std::size_t finished_calls = 0;
  std::vector<ScoredToken> scored;
  std::optional<ChoiceEnded> end;
};

struct Heard {
  std::optional<Started> started;
  std::vector<Told> choices = std::vector<Told>(8);
  std::optional<Ended> ended;
  std::size_t events = 0;
};

inline void hear(Heard& heard, const Event& event) {
  Told& told = heard.choices.at(event.choice);
  ++heard.events;
  told.scored.insert(told.scored.end(), event.scored.begin(), event.scored.end());
  if (const auto *started = std::get_if<Started>(&event.what)) {
    heard.started = *started;
  } else if (const auto *content = std::get_if<ContentDelta>(&event.what)) {
    told.content += content->text;
  } else if (const auto *reasoning = std::get_if<ReasoningDelta>(&event.what)) {
    told.reasoning += reasoning->text;
  } else if (const auto *call = std::get_if<CallStarted>(&event.what)) {
    told.calls.emplace_back(call->name, "");
    told.call_ids.push_back(call->id);
  } else if (const auto *delta = std::get_if<CallDelta>(&event.what)) {
    told.calls.at(delta->call).second += delta->arguments;
  } else if (std::holds_alternative<CallFinished>(event.what)) {
    ++told.finished_calls;
  } else if (const auto *end = std::get_if<ChoiceEnded>(&event.what)) {
    told.end = *end;
  } else {
    heard.ended = std::get<Ended>(event.what);
  }
}

inline Heard hear_all(Answer& answer) {
  Heard heard;
  while (const auto event = answer.next()) {
    hear(heard, *event);
  }
  return heard;
}

}  // namespace zllm::testing
