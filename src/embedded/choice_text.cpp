#include <zllm/embedded/choice_text.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <variant>

#include <zllm/base/text.h>
#include <zllm/embedded/random_name.h>

namespace zllm {
namespace {

namespace family = text::family;

constexpr std::size_t kCallNameLength = 24;

}  // namespace

ScoredToken scored_token(const text::Tokenizer& tokenizer,
                         const sampling::LogProbabilities& log_probabilities) {
  const auto single = [&](const sampling::TokenLogProbability& of) {
    return ScoredToken{.token = of.token,
                       .bytes = std::string(tokenizer.token_bytes(of.token)),
                       .log_probability = of.log_probability};
  };
  ScoredToken scored = single(log_probabilities.chosen);
  scored.top.reserve(log_probabilities.top.size());
  for (const sampling::TokenLogProbability& other : log_probabilities.top) {
    scored.top.push_back(single(other));
  }
  return scored;
}

ChoiceText::ChoiceText(std::uint32_t choice, ChoiceParts parts)
    : choice_(choice),
      parts_(std::move(parts)),
      detokenizer_(parts_.tokenizer),
      scored_(parts_.is_reasoning_open),
      is_reasoning_(parts_.is_reasoning_open) {}

// Whether the event tells all of the last token, so that no content comes of it any more.
bool ChoiceText::is_whole(const Event& event) const {
  const auto *reasoning = std::get_if<ReasoningDelta>(&event.what);
  return reasoning != nullptr ? scored_.ends_with(reasoning->text)
                              : !std::holds_alternative<ContentDelta>(event.what);
}

void ChoiceText::add(const engine::TokenChosen& token, std::vector<Event>& out) {
  if (is_ended_) {
    return;
  }
  ++tokens_;
  const bool was_reasoning = is_reasoning_;
  const bool is_special = parts_.tokenizer.is_special(token.token);
  if (is_special) {
    add_text(detokenizer_.flush(), false, out);
  }
  const std::size_t told = out.size();
  if (token.log_probabilities) {
    log_probability_ += token.log_probabilities->chosen.log_probability;
    scored_.begin(scored_token(parts_.tokenizer, *token.log_probabilities));
  }
  add_text(is_special ? std::string(parts_.tokenizer.token_bytes(token.token))
                      : detokenizer_.add(token.token),
           is_special, out);
  scored_.end();
  if (out.size() > told && is_whole(out.back())) {
    std::ranges::move(scored_.take_passed(), std::back_inserter(out.back().scored));
  }
  if (was_reasoning || is_reasoning_) {
    ++reasoning_tokens_;
    look_for_reasoning_end(token.token);
  }
}

// What follows the marker is no reasoning, though its first piece may be told much later.
void ChoiceText::look_for_reasoning_end(TokenId token) {
  const std::size_t size = parts_.reasoning_end.size();
  if (size == 0) {
    return;
  }
  reasoning_tail_ += parts_.tokenizer.token_bytes(token);
  if (reasoning_tail_.find(parts_.reasoning_end) != std::string::npos) {
    is_reasoning_ = false;
    reasoning_tail_.clear();
  } else if (reasoning_tail_.size() >= size) {
    reasoning_tail_.erase(0, reasoning_tail_.size() - size + 1);
  }
}

void ChoiceText::finish(const engine::ChoiceFinished& finished, std::vector<Event>& out) {
  if (is_ended_) {
    return;
  }
  const bool is_complete = finished.reason == engine::FinishReason::end_token;
  flush(is_complete ? family::Ending::complete : family::Ending::cut, out);
  if (is_ended_) {
    return;
  }
  switch (finished.reason) {
    case engine::FinishReason::length:
      is_context_full_ = parts_.max_tokens == 0 || tokens_ < parts_.max_tokens;
      return end(StopReason::length, out);
    case engine::FinishReason::cancelled:
      return end(StopReason::cancelled, out);
    case engine::FinishReason::end_token:
      break;
  }
  const bool is_asked =
      finished.end_token &&
      std::ranges::find(parts_.stop_tokens, *finished.end_token) != parts_.stop_tokens.end();
  end(has_calls_ ? StopReason::calls : is_asked ? StopReason::stop : StopReason::end, out);
}

void ChoiceText::break_off(std::vector<Event>& out) {
  if (!is_ended_) {
    flush(family::Ending::cut, out);
    is_ended_ = true;
  }
}

void ChoiceText::add_text(std::string_view text, bool is_special, std::vector<Event>& out) {
  if (text.empty() || is_ended_) {
    return;
  }
  scored_.append(text, is_special);
  if (parts_.parser == nullptr) {
    if (!is_special) {
      pass(family::Content{std::string(text)}, out);
    }
    return;
  }
  std::vector<family::Piece> pieces;
  parts_.parser->add(text, is_special, pieces);
  pass(std::move(pieces), out);
}

void ChoiceText::pass(std::vector<family::Piece> pieces, std::vector<Event>& out) {
  for (family::Piece& piece : pieces) {
    if (is_ended_) {
      return;
    }
    std::visit([&](auto& what) { pass(std::move(what), out); }, piece);
  }
}

void ChoiceText::pass(const family::Content& content, std::vector<Event>& out) {
  is_reasoning_ = false;
  if (parts_.tells_calls_alone) {
    return;
  }
  scored_.enter_content();
  std::string text = parts_.stops.add(content.text);
  if (!text.empty()) {
    emit(ContentDelta{std::move(text)}, out);
  }
  if (parts_.stops.stopped()) {
    end(StopReason::stop, out);
  }
}

void ChoiceText::pass(family::Reasoning reasoning, std::vector<Event>& out) {
  is_reasoning_ = !reasoning.ends;
  flush_content(out);
  scored_.leave_content();
  if (reasoning.ends) {
    scored_.end_reasoning();
  }
  if (!reasoning.text.empty()) {
    emit(ReasoningDelta{std::move(reasoning.text)}, out);
  }
}

void ChoiceText::pass(family::CallBegin begin, std::vector<Event>& out) {
  is_reasoning_ = false;
  if (has_calls_ && !parts_.allows_parallel_calls) {
    return end(StopReason::calls, out);
  }
  has_calls_ = true;
  flush_content(out);
  scored_.leave_content();
  if (begin.id.empty()) {
    begin.id = concat("call_", random_name(kCallNameLength));
  }
  emit(CallStarted{.call = begin.call, .id = std::move(begin.id), .name = std::move(begin.name)},
       out);
}

void ChoiceText::pass(family::CallArguments arguments, std::vector<Event>& out) {
  scored_.leave_content();
  if (!arguments.json.empty()) {
    emit(CallDelta{.call = arguments.call, .arguments = std::move(arguments.json)}, out);
  }
}

void ChoiceText::pass(family::CallEnd call, std::vector<Event>& out) {
  scored_.leave_content();
  emit(CallFinished{.call = call.call, .is_cut = is_cut_}, out);
  if (!parts_.allows_parallel_calls && !is_cut_) {
    end(StopReason::calls, out);
  }
}

// Bytes that the detokenizer still holds began a character in which the answer was cut: no text.
void ChoiceText::flush(family::Ending ending, std::vector<Event>& out) {
  is_cut_ = ending == family::Ending::cut;
  if (parts_.parser != nullptr && !is_ended_) {
    std::vector<family::Piece> pieces;
    parts_.parser->finish(pieces, ending);
    pass(std::move(pieces), out);
  }
  if (!is_ended_) {
    flush_content(out);
  }
}

void ChoiceText::flush_content(std::vector<Event>& out) {
  std::string held = parts_.stops.flush();
  if (!held.empty()) {
    emit(ContentDelta{std::move(held)}, out);
  }
}

void ChoiceText::end(StopReason reason, std::vector<Event>& out) {
  is_ended_ = true;
  emit(ChoiceEnded{.reason = reason,
                   .stop_string = parts_.stops.stopped() ? parts_.stops.stop() : std::string(),
                   .is_context_full = is_context_full_,
                   .tokens = tokens_},
       out);
}

void ChoiceText::emit(decltype(Event::what) what, std::vector<Event>& out) {
  const auto *content = std::get_if<ContentDelta>(&what);
  std::vector<ScoredToken> scored =
      content != nullptr ? scored_.take_content(content->text) : scored_.take_passed();
  out.push_back({.choice = choice_, .scored = std::move(scored), .what = std::move(what)});
}

}  // namespace zllm
