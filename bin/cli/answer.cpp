#include "answer.h"

#include <stop_token>
#include <utility>

#include <zllm/text/detokenizer.h>
#include <zllm/text/stop_strings.h>

#include "output.h"

namespace zllm::cli {
namespace {

// Prompts below this are read before a bar could be seen.
constexpr std::uint64_t kProgressFrom = 2048;

// From tokens to the text that may be shown.
class Stream {
 public:
  Stream(const text::Tokenizer& tokenizer, text::StopStrings stops, const TextSink& sink)
      : detokenizer_(tokenizer, text::Detokenizer::Start::continuation, {.skip_special = true}),
        stops_(std::move(stops)),
        sink_(sink) {}

  // False when the answer is to end.
  bool add(TokenId token) {
    pass(stops_.add(detokenizer_.add(token)));
    return status_.ok() && !stops_.stopped();
  }

  Status finish() {
    pass(stops_.add(detokenizer_.flush()));
    if (!stops_.stopped()) {
      pass(stops_.flush());
    }
    return status_;
  }

  bool is_stopped() const { return stops_.stopped(); }
  std::string take_text() { return std::move(text_); }

 private:
  void pass(const std::string& piece) {
    if (!piece.empty() && status_.ok()) {
      text_ += piece;
      status_ = sink_(piece);
    }
  }

  text::Detokenizer detokenizer_;
  text::StopStrings stops_;
  const TextSink& sink_;
  std::string text_;
  Status status_;
};

std::string finish_reason(engine::FinishReason reason, bool is_stopped, bool is_cancelled) {
  if (reason == engine::FinishReason::end_token || is_stopped) {
    return "stop";
  }
  return is_cancelled || reason == engine::FinishReason::cancelled ? "cancelled" : "length";
}

}  // namespace

Result<Answer> answer(LoadedModel& model, engine::Session& session, const AnswerRequest& request,
                      const NotedSignals& signals, const TextSink& sink) {
  ZLLM_TRY(text::StopStrings stops, text::StopStrings::create(request.stop));
  Stream stream(model.text.tokenizer, std::move(stops), sink);
  StatusLine line;
  std::stop_source stop;
  const auto progress = [&](std::uint64_t done, std::uint64_t total) {
    if (signals.number() != 0) {
      stop.request_stop();
    } else if (total >= kProgressFrom && done < total) {
      line.show_progress("reading the prompt", done, total);
    }
    if (done == total) {
      line.clear();
    }
  };
  const engine::GenerationRequest generation{.prompt = request.prompt,
                                             .sampling = model.sampling,
                                             .choice = request.choice,
                                             .max_tokens = request.max_tokens,
                                             .end_tokens = model.end_tokens,
                                             .vocabulary = model.text.tokenizer.vocabulary_size()};
  auto generated = engine::generate(
      session, generation,
      [&](TokenId token) { return stream.add(token) && signals.number() == 0; }, stop.get_token(),
      progress);
  line.clear();
  if (!generated.ok()) {
    return std::move(generated).error();
  }
  ZLLM_TRY(stream.finish());
  ZLLM_TRY(model.model.check());
  const bool is_cancelled = signals.number() != 0;
  return Answer{
      .text = stream.take_text(),
      .finish_reason = finish_reason(generated->reason, stream.is_stopped(), is_cancelled),
      .generation = *std::move(generated)};
}

}  // namespace zllm::cli
