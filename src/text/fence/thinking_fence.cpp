#include <zllm/text/fence/thinking_fence.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/text/fence/exact_tokens.h>
#include <zllm/text/fence/marker.h>
#include <zllm/text/fence/token_set.h>

namespace zllm::text {
namespace {

// Tokens of white space between reasoning and the answer; models write two line ends as a rule.
constexpr std::uint8_t kMaxGapTokens = 4;

bool is_space(std::string_view bytes) {
  return bytes.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

// What all copies of a fence share.
struct Plan {
  Plan(Tokenizer all, ThinkingFenceSpec from, bool constrains)
      : tokenizer(std::move(all)),
        spec(std::move(from)),
        begin(spec.thinking.begin),
        end(spec.thinking.end),
        has_answer(constrains) {}

  Tokenizer tokenizer;
  ThinkingFenceSpec spec;
  Marker begin;
  Marker end;
  bool has_answer;
  std::vector<std::vector<TokenId>> closings = {};  // what ends reasoning, by the state of `end`
  std::vector<TokenId> spaces = {};
  // That a marker may end in with more behind it, which would be the answer's.
  std::vector<TokenId> straddlers = {};
  std::vector<std::uint32_t> open_mask = {};
};

enum class Phase : std::uint8_t {
  start,      // reasoning may begin, or the answer
  reasoning,  // open
  gap,        // white space after it
  answer,     // after reasoning
  direct,     // the answer without reasoning
};

struct State {
  Phase phase = Phase::start;
  bool is_direct_alive = true;  // start: what came so far begins an answer too
  std::uint8_t gap = 0;
  std::uint16_t matched = 0;       // start: of the begin marker; reasoning: of the end marker
  std::uint16_t closing_from = 0;  // closing began at this state of the end marker
  std::uint16_t closing = 0;       // 1 + how many of the closing tokens came; 0 = not forced
  std::uint32_t reasoning = 0;     // tokens
  std::uint32_t direct = 0;        // tokens that `direct_` took
  std::uint32_t answer = 0;        // tokens that `answer_` took
};

class ThinkingFence final : public engine::Fence {
 public:
  ThinkingFence(std::shared_ptr<const Plan> plan, std::unique_ptr<engine::Fence> answer)
      : plan_(std::move(plan)), answer_(std::move(answer)) {
    State first;
    if (plan_->spec.thinking.is_open) {
      first.phase = Phase::reasoning;
      begin_closing(first);
    } else if (answer_ != nullptr) {
      direct_ = answer_->clone();
    }
    states_.push_back(first);
  }

  std::unique_ptr<engine::Fence> clone() const override {
    auto copy = std::make_unique<ThinkingFence>(plan_, answer_ ? answer_->clone() : nullptr);
    copy->direct_ = direct_ ? direct_->clone() : nullptr;
    copy->states_ = states_;
    return copy;
  }

  Result<std::span<const std::uint32_t>> mask() override;
  Result<std::vector<TokenId>> forced() override;
  Status advance(TokenId token) override;
  Status rollback(std::size_t tokens) override;
  bool is_finished() const override;

 private:
  const State& now() const { return states_.back(); }
  engine::Fence *fence_of(Phase phase) const {
    return phase == Phase::direct   ? direct_.get()
           : phase == Phase::answer ? answer_.get()
                                    : nullptr;
  }
  std::span<const TokenId> closing_tokens(const State& state) const;
  void begin_closing(State& state) const;
  Result<std::span<const std::uint32_t>> start_mask();
  Result<std::span<const std::uint32_t>> reasoning_mask();
  Result<std::span<const std::uint32_t>> gap_mask();
  bool may_begin(const State& state, std::string_view bytes) const;
  Status advance_start(State& state, TokenId token);
  Status advance_reasoning(State& state, std::string_view bytes, bool counts);
  Status advance_answer(State& state, TokenId token);

  std::shared_ptr<const Plan> plan_;
  std::unique_ptr<engine::Fence> answer_;  // at the answer's start until reasoning has ended
  std::unique_ptr<engine::Fence> direct_;  // while the answer may come without reasoning
  std::vector<State> states_;              // one more than tokens came
  std::vector<std::uint32_t> mask_;
};

Error refusal(TokenId token) {
  return Error{Code::invalid_argument, concat("token ", token, " may not come here")};
}

std::span<const TokenId> ThinkingFence::closing_tokens(const State& state) const {
  return std::span(plan_->closings[state.closing_from]).subspan(state.closing - 1U);
}

// Once the budget is used up, what is left of the end marker is forced.
void ThinkingFence::begin_closing(State& state) const {
  const std::optional<std::uint64_t>& budget = plan_->spec.thinking.budget;
  if (state.phase == Phase::reasoning && state.closing == 0 && budget &&
      state.reasoning >= *budget) {
    state.closing_from = plan_->closings[state.matched].empty() ? std::uint16_t{0} : state.matched;
    state.closing = plan_->closings[state.closing_from].empty() ? 0 : 1;
  }
}

Result<std::span<const std::uint32_t>> ThinkingFence::mask() {
  switch (now().phase) {
    case Phase::start:
      return start_mask();
    case Phase::reasoning:
      return reasoning_mask();
    case Phase::gap:
      return gap_mask();
    default:
      break;
  }
  engine::Fence *fence = fence_of(now().phase);
  return fence != nullptr ? fence->mask() : std::span<const std::uint32_t>();
}

Result<std::span<const std::uint32_t>> ThinkingFence::start_mask() {
  if (direct_ == nullptr) {
    return std::span<const std::uint32_t>();
  }
  mask_.assign(mask_words(plan_->tokenizer.vocabulary_size()), 0);
  if (now().is_direct_alive) {
    ZLLM_TRY(const std::span<const std::uint32_t> direct, direct_->mask());
    std::copy(direct.begin(), direct.end(), mask_.begin());
  }
  const auto size = static_cast<TokenId>(plan_->tokenizer.vocabulary_size());
  for (TokenId id = 0; id < size; ++id) {
    if (may_begin(now(), plan_->tokenizer.token_bytes(id))) {
      allow_token(mask_, id);
    }
  }
  for (const TokenId end : plan_->spec.end_tokens) {
    if (!now().is_direct_alive) {
      ban_token(mask_, end);
    }
  }
  return std::span<const std::uint32_t>(mask_);
}

// Whether bytes go on with white space and the begin marker.
bool ThinkingFence::may_begin(const State& state, std::string_view bytes) const {
  if (bytes.empty()) {
    return false;
  }
  if (state.matched == 0) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  }
  const std::string_view left = plan_->begin.text().substr(state.matched);
  if (bytes.size() <= left.size()) {
    return left.starts_with(bytes);
  }
  return bytes.starts_with(left) && !plan_->end.run(0, bytes.substr(left.size())).is_found;
}

Result<std::span<const std::uint32_t>> ThinkingFence::reasoning_mask() {
  const State& state = now();
  if (state.closing > 0) {
    mask_.assign(mask_words(plan_->tokenizer.vocabulary_size()), 0);
    allow_token(mask_, closing_tokens(state).front());
    return std::span<const std::uint32_t>(mask_);
  }
  if (!plan_->has_answer) {
    return std::span<const std::uint32_t>();
  }
  mask_ = plan_->open_mask;
  for (const TokenId id : plan_->straddlers) {
    const std::string_view bytes = plan_->tokenizer.token_bytes(id);
    const Marker::Step step = plan_->end.run(state.matched, bytes);
    if (step.is_found && !is_space(bytes.substr(step.used))) {
      ban_token(mask_, id);
    }
  }
  return std::span<const std::uint32_t>(mask_);
}

Result<std::span<const std::uint32_t>> ThinkingFence::gap_mask() {
  ZLLM_TRY(const std::span<const std::uint32_t> answer, answer_->mask());
  mask_.assign(answer.begin(), answer.end());
  if (now().gap < kMaxGapTokens) {
    for (const TokenId id : plan_->spaces) {
      allow_token(mask_, id);
    }
  }
  return std::span<const std::uint32_t>(mask_);
}

Result<std::vector<TokenId>> ThinkingFence::forced() {
  const State& state = now();
  if (state.phase == Phase::reasoning && state.closing > 0) {
    const std::span<const TokenId> left = closing_tokens(state);
    return std::vector<TokenId>(left.begin(), left.end());
  }
  engine::Fence *fence = fence_of(state.phase);
  return fence != nullptr ? fence->forced() : std::vector<TokenId>();
}

Status ThinkingFence::advance(TokenId token) {
  const Plan& plan = *plan_;
  const std::vector<TokenId>& ends = plan.spec.end_tokens;
  if (!plan.tokenizer.is_known(token) || std::find(ends.begin(), ends.end(), token) != ends.end()) {
    return refusal(token);
  }
  State state = now();
  const std::string_view bytes = plan.tokenizer.token_bytes(token);
  switch (state.phase) {
    case Phase::start:
      ZLLM_TRY(advance_start(state, token));
      break;
    case Phase::reasoning:
      if (state.closing > 0 && token != closing_tokens(state).front()) {
        return refusal(token);
      }
      state.closing = static_cast<std::uint16_t>(state.closing + (state.closing > 0 ? 1 : 0));
      ZLLM_TRY(advance_reasoning(state, bytes, true));
      break;
    case Phase::gap:
      if (state.gap < kMaxGapTokens && !plan.tokenizer.is_special(token) && is_space(bytes)) {
        ++state.gap;
        break;
      }
      state.phase = Phase::answer;
      [[fallthrough]];
    default:
      ZLLM_TRY(advance_answer(state, token));
  }
  states_.push_back(state);
  return {};
}

Status ThinkingFence::advance_start(State& state, TokenId token) {
  std::string_view bytes = plan_->tokenizer.token_bytes(token);
  const bool begins = may_begin(state, bytes);
  const bool goes_on =
      state.is_direct_alive && (direct_ == nullptr || direct_->advance(token).ok());
  if (!begins && !goes_on) {
    return refusal(token);
  }
  state.direct += goes_on ? 1 : 0;
  state.is_direct_alive = goes_on;
  if (!begins) {
    state.phase = Phase::direct;
    return {};
  }
  if (state.matched == 0) {
    bytes.remove_prefix(std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size()));
  }
  const std::size_t left = plan_->begin.size() - state.matched;
  if (bytes.size() < left) {
    state.matched = static_cast<std::uint16_t>(state.matched + bytes.size());
    return {};
  }
  state.phase = Phase::reasoning;
  state.matched = 0;
  return advance_reasoning(state, bytes.substr(left), false);
}

Status ThinkingFence::advance_reasoning(State& state, std::string_view bytes, bool counts) {
  const Marker::Step step = plan_->end.run(state.matched, bytes);
  state.reasoning += counts ? 1 : 0;
  state.matched = static_cast<std::uint16_t>(step.is_found ? 0 : step.state);
  if (!step.is_found) {
    if (state.closing > 0 && closing_tokens(state).empty()) {
      state.closing = 0;
    }
    begin_closing(state);
    return {};
  }
  if (plan_->has_answer && !is_space(bytes.substr(step.used))) {
    return Error{Code::invalid_argument, "a token ends reasoning and begins the answer at once"};
  }
  state.closing = 0;
  state.phase = plan_->spec.allows_gap && plan_->has_answer ? Phase::gap : Phase::answer;
  return {};
}

Status ThinkingFence::advance_answer(State& state, TokenId token) {
  engine::Fence *fence = fence_of(state.phase);
  if (fence != nullptr) {
    ZLLM_TRY(fence->advance(token));
  }
  (state.phase == Phase::direct ? state.direct : state.answer) += 1;
  return {};
}

Status ThinkingFence::rollback(std::size_t tokens) {
  if (tokens >= states_.size()) {
    return Error{Code::invalid_argument, concat("only ", states_.size() - 1, " tokens came")};
  }
  const State& back = states_[states_.size() - 1 - tokens];
  if (direct_ != nullptr) {
    ZLLM_TRY(direct_->rollback(now().direct - back.direct));
  }
  if (answer_ != nullptr) {
    ZLLM_TRY(answer_->rollback(now().answer - back.answer));
  }
  states_.resize(states_.size() - tokens);
  return {};
}

bool ThinkingFence::is_finished() const {
  const engine::Fence *fence = fence_of(now().phase);
  return fence != nullptr && fence->is_finished();
}

void find_tokens(Plan& plan) {
  const auto size = static_cast<TokenId>(plan.tokenizer.vocabulary_size());
  plan.open_mask.assign(mask_words(plan.tokenizer.vocabulary_size()), 0);
  const char last = plan.end.text().back();
  for (TokenId id = 0; id < size; ++id) {
    if (!plan.tokenizer.is_known(id)) {
      continue;
    }
    allow_token(plan.open_mask, id);
    const std::string_view bytes = plan.tokenizer.token_bytes(id);
    if (!bytes.empty() && is_space(bytes) && !plan.tokenizer.is_special(id)) {
      plan.spaces.push_back(id);
    }
    for (std::size_t at = bytes.find(last); at < bytes.size(); at = bytes.find(last, at + 1)) {
      const std::size_t common = std::min(at + 1, plan.end.size());
      if (!is_space(bytes.substr(at + 1)) &&
          plan.end.text().ends_with(bytes.substr(at + 1 - common, common))) {
        plan.straddlers.push_back(id);
        break;
      }
    }
  }
  for (const TokenId end : plan.spec.end_tokens) {
    ban_token(plan.open_mask, end);
  }
}

}  // namespace

Result<std::unique_ptr<engine::Fence>> make_thinking_fence(const Tokenizer& tokenizer,
                                                           ThinkingFenceSpec spec,
                                                           std::unique_ptr<engine::Fence> answer) {
  constexpr std::size_t kMaxMarker = 256;  // the longest in use has some thirty bytes
  const Thinking& thinking = spec.thinking;
  if (thinking.end.empty() || thinking.end.size() > kMaxMarker ||
      thinking.begin.size() > kMaxMarker) {
    return Error{Code::invalid_argument, "the markers of reasoning are empty or too long"};
  }
  auto plan = std::make_shared<Plan>(tokenizer, std::move(spec), answer != nullptr);
  for (std::size_t state = 0; state < plan->end.size(); ++state) {
    plan->closings.push_back(exact_tokens(tokenizer, plan->end.text().substr(state), state == 0));
  }
  if (plan->spec.thinking.budget && plan->closings.front().empty()) {
    return Error{Code::unsupported, "the tokenizer cannot spell the end of reasoning"};
  }
  find_tokens(*plan);
  return std::unique_ptr<engine::Fence>(
      std::make_unique<ThinkingFence>(std::move(plan), std::move(answer)));
}

}  // namespace zllm::text
