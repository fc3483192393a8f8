#include <zllm/embedded/running_answer.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>
#include <variant>

namespace zllm {
namespace {

Failure failure_of(const engine::Failed& failed) {
  Failure failure = Failure::from(failed.error);
  switch (failed.kind) {
    case engine::FailureKind::deadline:
      failure.kind = FailureKind::deadline;
      break;
    case engine::FailureKind::shut_down:
      failure.kind = FailureKind::shut_down;
      break;
    case engine::FailureKind::no_memory:
      failure.kind = FailureKind::out_of_memory;
      break;
    case engine::FailureKind::failed:
      // What a fence does not follow is the request's to mend.
      failure.kind =
          failed.error.code == Code::unsupported ? FailureKind::unsupported : FailureKind::internal;
      break;
  }
  return failure;
}

// The echoed tokens with what the model made of them; the very first token of a prompt has none.
std::vector<ScoredToken> echoed_scores(const text::Tokenizer& tokenizer, const Echo& echo,
                                       const engine::PromptRead& read) {
  std::vector<ScoredToken> scored;
  for (std::size_t i = 0; i < echo.tokens.size(); ++i) {
    const std::size_t place = i + echo.hidden;
    if (place >= 1 && place - 1 < read.log_probabilities.size()) {
      scored.push_back(scored_token(tokenizer, read.log_probabilities[place - 1]));
    } else {
      scored.push_back({.token = echo.tokens[i],
                        .bytes = std::string(tokenizer.token_bytes(echo.tokens[i])),
                        .log_probability = std::numeric_limits<double>::quiet_NaN()});
    }
    scored.back().is_content = true;
  }
  return scored;
}

}  // namespace

RunningAnswer::RunningAnswer(std::unique_ptr<engine::Stream> stream, AnswerPlan plan)
    : stream_(std::move(stream)), plan_(std::move(plan)) {
  const auto count = static_cast<std::uint32_t>(plan_.candidates.size());
  candidates_.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    candidates_.emplace_back(i, std::move(plan_.candidates[i]));
  }
  if (count > plan_.choices) {
    best_.emplace(count, plan_.choices, plan_.tells_scores);
  }
}

std::optional<Event> RunningAnswer::next() {
  while (ready_.empty() && !is_done_) {
    auto event = stream_->next();
    if (!event) {
      is_done_ = true;
      break;
    }
    take(*std::move(event));
  }
  return pop();
}

std::optional<Event> RunningAnswer::try_next() {
  while (ready_.empty() && !is_done_) {
    auto event = stream_->try_next();
    if (!event) {
      break;
    }
    take(*std::move(event));
  }
  return pop();
}

void RunningAnswer::set_notifier(std::function<void()> notifier) {
  const bool has_ready = !ready_.empty() && notifier != nullptr;
  if (has_ready) {
    notifier();
  }
  stream_->set_notifier(std::move(notifier));
}

void RunningAnswer::cancel() { stream_->cancel(); }

std::optional<Event> RunningAnswer::pop() {
  if (ready_.empty()) {
    return std::nullopt;
  }
  Event event = std::move(ready_.front());
  ready_.pop_front();
  return event;
}

void RunningAnswer::take(engine::Event event) {
  std::visit([this](const auto& what) { take(what); }, event);
}

void RunningAnswer::take(const engine::PromptRead& read) {
  usage_.prompt_tokens = read.prompt_tokens;
  usage_.cached_tokens = read.cached_tokens;
  ready_.push_back(
      {.what = Started{.prompt_tokens = read.prompt_tokens, .cached_tokens = read.cached_tokens}});
  if (plan_.echo) {
    tell_echo(read);
  }
}

void RunningAnswer::tell_echo(const engine::PromptRead& read) {
  std::vector<ScoredToken> scored;
  if (plan_.tells_scores) {
    scored = echoed_scores(candidates_.front().tokenizer(), *plan_.echo, read);
  }
  for (std::uint32_t choice = 0; choice < plan_.choices; ++choice) {
    ready_.push_back({.choice = choice, .scored = scored, .what = ContentDelta{plan_.echo->text}});
    if (plan_.tells_prompt_alone) {
      ready_.push_back({.choice = choice, .what = ChoiceEnded{.reason = StopReason::length}});
    }
  }
  if (plan_.tells_prompt_alone) {
    for (ChoiceText& candidate : candidates_) {
      std::vector<Event> unheard;
      candidate.break_off(unheard);
    }
  }
}

void RunningAnswer::take(const engine::TokenChosen& token) {
  ChoiceText& candidate = candidates_.at(token.choice);
  if (candidate.is_ended()) {
    return;
  }
  std::vector<Event> events;
  candidate.add(token, events);
  if (candidate.is_ended()) {
    stream_->cancel_choice(token.choice);
  }
  tell(std::move(events));
}

void RunningAnswer::take(const engine::ChoiceFinished& finished) {
  std::vector<Event> events;
  candidates_.at(finished.choice).finish(finished, events);
  tell(std::move(events));
}

void RunningAnswer::take(const engine::Ended& ended) {
  std::vector<Event> events;
  for (ChoiceText& candidate : candidates_) {
    candidate.break_off(events);
    usage_.completion_tokens += candidate.tokens();
    usage_.reasoning_tokens += candidate.reasoning_tokens();
  }
  tell(std::move(events));
  if (best_ && !ended.failure) {
    std::ranges::move(best_->take(candidates_), std::back_inserter(ready_));
  }
  Ended told{.usage = usage_,
             .timings = {.queue_seconds = ended.timings.queue_seconds,
                         .prefill_seconds = ended.timings.prefill_seconds,
                         .decode_seconds = ended.timings.decode_seconds}};
  if (ended.failure) {
    told.failure = failure_of(*ended.failure);
  }
  ready_.push_back({.what = std::move(told)});
  is_done_ = true;
}

void RunningAnswer::tell(std::vector<Event> events) {
  if (best_) {
    best_->add(std::move(events));
    return;
  }
  std::ranges::move(events, std::back_inserter(ready_));
}

}  // namespace zllm
