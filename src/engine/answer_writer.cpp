#include <zllm/engine/answer_writer.h>

#include <algorithm>
#include <limits>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::engine {
namespace {

bool is_end(const Request& request, TokenId token) {
  return std::ranges::find(request.end_tokens, token) != request.end_tokens.end();
}

}  // namespace

bool AnswerWriter::wants(const Job& job, const Choice& choice, std::uint64_t row) {
  const std::uint64_t next = row + 1;
  if (next < job.prompt_size()) {
    return job.request.wants_prompt_log_probabilities && !job.is_prompt_read &&
           next > job.prompt_scores.size();
  }
  if (next < choice.history.size()) {
    return next >= choice.sent;
  }
  return !choice.ending;
}

Status AnswerWriter::take(Job& job, Choice& choice, std::uint64_t row,
                          std::span<const float> logits) {
  const std::uint64_t next = row + 1;
  if (next < job.prompt_size()) {
    ZLLM_TRY(auto scores,
             sampling::log_probabilities(logits, vocabulary(job.request), choice.history[next],
                                         job.request.top_log_probabilities.value_or(0)));
    job.prompt_scores.push_back(std::move(scores));
    return {};
  }
  if (next < choice.history.size()) {
    return send(job, choice, true, logits);
  }
  return choose(job, choice, logits);
}

std::size_t AnswerWriter::vocabulary(const Request& request) const {
  return request.vocabulary == 0 ? limits_.vocabulary
                                 : std::min<std::size_t>(request.vocabulary, limits_.vocabulary);
}

Status AnswerWriter::choose(Job& job, Choice& choice, std::span<const float> logits) {
  if (choice.fence != nullptr) {
    if (choice.fence->is_finished()) {
      choice.finished = {.choice = choice.index, .reason = FinishReason::end_token};
      return {};
    }
    const std::size_t before = choice.history.size();
    ZLLM_TRY(append_forced(job, choice));
    if (choice.sent < choice.history.size()) {
      return send(job, choice, true, logits);
    }
    if (before < choice.history.size()) {
      return {};
    }
  }
  ZLLM_TRY(const TokenId token, sample(job, choice, logits));
  if (is_end(job.request, token)) {
    choice.finished = {
        .choice = choice.index, .reason = FinishReason::end_token, .end_token = token};
    return {};
  }
  if (choice.fence != nullptr) {
    ZLLM_TRY(choice.fence->advance(token));
  }
  choice.history.push_back(token);
  settle(job, choice);
  ZLLM_TRY(send(job, choice, false, logits));
  return choice.fence == nullptr || choice.finished ? Status() : append_forced(job, choice);
}

Result<TokenId> AnswerWriter::sample(const Job& job, Choice& choice,
                                     std::span<const float> logits) {
  ZLLM_TRY(const std::span<const std::uint32_t> allowed, mask(job, choice));
  return sampler_.sample(job.request.sampling,
                         {.logits = logits,
                          .vocabulary = vocabulary(job.request),
                          .history = choice.history,
                          .mask = allowed},
                         {.choice = choice.index, .position = choice.history.size()});
}

// What the fence allows, without end tokens as long as the answer is too short.
Result<std::span<const std::uint32_t>> AnswerWriter::mask(const Job& job, Choice& choice) {
  std::span<const std::uint32_t> allowed;
  const std::size_t known = vocabulary(job.request);
  if (choice.fence != nullptr) {
    ZLLM_TRY(allowed, choice.fence->mask());
    if (!allowed.empty() && allowed.size() * 32 < known) {
      return Error{Code::internal, concat("the fence's mask covers ", allowed.size() * 32,
                                          " tokens of a vocabulary of ", known)};
    }
  }
  if (job.answer_size(choice) >= job.request.min_tokens || job.request.end_tokens.empty()) {
    return allowed;
  }
  if (allowed.empty()) {
    mask_.assign(known / 32 + 1, std::numeric_limits<std::uint32_t>::max());
  } else {
    mask_.assign(allowed.begin(), allowed.end());
  }
  for (const TokenId token : job.request.end_tokens) {
    if (token >= 0 && static_cast<std::size_t>(token) < known) {
      const auto at = static_cast<std::size_t>(token);
      mask_[at / 32] &= ~(1U << (at % 32));
    }
  }
  return std::span<const std::uint32_t>(mask_);
}

// Appends what the fence forces, as much as may follow and as the reader has room for.
Status AnswerWriter::append_forced(Job& job, Choice& choice) {
  ZLLM_TRY(const std::vector<TokenId> forced, choice.fence->forced());
  std::uint64_t room = std::max<std::uint64_t>(job.events->room(), 1);
  room = std::min(room, job.request.max_tokens - job.answer_size(choice));
  room = std::min<std::uint64_t>(room, limits_.context + 1 - choice.history.size());
  for (const TokenId token : forced) {
    if (room == 0 || is_end(job.request, token)) {
      break;
    }
    if (token < 0 || static_cast<std::size_t>(token) >= vocabulary(job.request)) {
      return Error{Code::internal, concat("the fence forces token ", token,
                                          " outside the vocabulary of ", vocabulary(job.request))};
    }
    ZLLM_TRY(choice.fence->advance(token));
    choice.history.push_back(token);
    --room;
  }
  if (choice.sent == choice.history.size()) {
    return {};
  }
  settle(job, choice);
  while (!job.request.top_log_probabilities && choice.sent < choice.history.size()) {
    ZLLM_TRY(send(job, choice, true, {}));
  }
  return {};
}

// Tells the reader of the next token, and ends the answer where that was the last.
Status AnswerWriter::send(Job& job, Choice& choice, bool is_forced, std::span<const float> logits) {
  TokenChosen chosen{
      .choice = choice.index, .token = choice.history[choice.sent], .is_forced = is_forced};
  if (job.request.top_log_probabilities) {
    ZLLM_TRY(chosen.log_probabilities,
             sampling::log_probabilities(logits, vocabulary(job.request), chosen.token,
                                         *job.request.top_log_probabilities));
  }
  job.events->push(std::move(chosen));
  ++choice.sent;
  ++statistics_.generated_tokens;
  statistics_.forced_tokens += is_forced ? 1 : 0;
  if (choice.ending && choice.sent == choice.history.size()) {
    choice.finished = {.choice = choice.index, .reason = *choice.ending};
  }
  return {};
}

// Decides after new tokens whether they are the last.
void AnswerWriter::settle(const Job& job, Choice& choice) {
  if (choice.fence != nullptr && choice.fence->is_finished()) {
    choice.ending = FinishReason::end_token;
  } else if (job.answer_size(choice) >= job.request.max_tokens ||
             choice.history.size() > limits_.context) {
    choice.ending = FinishReason::length;
  }
}

}  // namespace zllm::engine
