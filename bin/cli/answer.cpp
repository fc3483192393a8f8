#include "answer.h"

#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include <zllm/base/text.h>
#include <zllm/engine/signal.h>

#include "output.h"

namespace zllm::cli {
namespace {

// Prompts below this are read before a bar could be seen.
constexpr std::uint64_t kProgressFrom = 2048;

// How often signals and the bar are looked at while no token comes.
constexpr auto kLookInterval = std::chrono::milliseconds(50);

// Takes the events of an answer to its end.
class Listener {
 public:
  Listener(const Engine& engine, const NotedSignals& signals, const TextSink& sink)
      : engine_(engine),
        computed_before_(engine.statistics().prompt_tokens),
        signals_(signals),
        sink_(sink) {}

  Result<GivenAnswer> hear(zllm::Answer& answer) {
    prompt_tokens_ = answer.prompt_tokens();
    engine::Signal signal;
    answer.set_notifier([&signal] { signal.raise(); });
    while (!is_over_) {
      if (is_unwanted()) {
        answer.cancel();
      }
      if (auto event = answer.try_next()) {
        take(*std::move(event));
      } else {
        show_progress();
        signal.wait(engine::Clock::now() + kLookInterval);
      }
    }
    answer.set_notifier(nullptr);
    if (!status_.ok()) {
      return std::move(status_).error();
    }
    return std::move(given_);
  }

 private:
  bool is_unwanted() const { return signals_.number() != 0 || !status_.ok(); }

  void take(Event event) {
    for (const ScoredToken& scored : event.scored) {
      given_.tokens.push_back(scored.token);
    }
    std::visit([this](auto& what) { take(what); }, event.what);
  }
  void take(const Started& started) {
    line_.clear();
    given_.prompt_tokens = started.prompt_tokens;
    given_.cached_tokens = started.cached_tokens;
  }
  void take(const ContentDelta& delta) {
    if (!is_unwanted()) {
      given_.text += delta.text;
      status_ = sink_(delta.text);
    }
  }
  void take(const ChoiceEnded& ended) {
    given_.reason = is_unwanted() ? StopReason::cancelled : ended.reason;
    given_.is_context_full = ended.is_context_full;
  }
  void take(const Ended& ended) {
    is_over_ = true;
    line_.clear();
    given_.timings = ended.timings;
    if (ended.failure && status_.ok()) {
      status_ = Error{Code::internal, ended.failure->message};
    }
  }
  // Requests of the programs separate no reasoning and have no tools.
  template <class Other>
  void take(const Other&) {}

  void show_progress() {
    if (line_.is_active() && given_.prompt_tokens == 0 && prompt_tokens_ >= kProgressFrom) {
      line_.show_progress("reading the prompt",
                          engine_.statistics().prompt_tokens - computed_before_, prompt_tokens_);
    }
  }

  const Engine& engine_;
  const std::uint64_t computed_before_;  // of other prompts
  const NotedSignals& signals_;
  const TextSink& sink_;
  std::uint64_t prompt_tokens_ = 0;
  StatusLine line_;
  GivenAnswer given_;
  Status status_;
  bool is_over_ = false;
};

// A refusal may know no more than that there are too many.
Error too_long(const Engine& engine, const Request& request) {
  auto count = result_of(engine.count_prompt_tokens(request));
  if (!count.ok()) {
    return std::move(count).error();
  }
  return Error{Code::resource_exhausted,
               concat("the prompt has ", *count, " tokens, the context holds ",
                      engine.info().context, " of prompt and answer together")};
}

}  // namespace

Result<GivenAnswer> answer(Engine& engine, const Request& request, const NotedSignals& signals,
                           const TextSink& sink) {
  Listener listener(engine, signals, sink);
  auto asked = engine.submit(request);
  if (!asked.ok() && asked.error().kind == FailureKind::too_long) {
    return too_long(engine, request);
  }
  ZLLM_TRY(const std::unique_ptr<zllm::Answer> running, result_of(std::move(asked)));
  return listener.hear(*running);
}

}  // namespace zllm::cli
