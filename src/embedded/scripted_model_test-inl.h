#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/embedded/engine.h>
#include <zllm/embedded/scripted_test-inl.h>
#include <zllm/runtime/any_model.h>
#include <zllm/runtime/paged_states.h>
#include <zllm/runtime/toy_backend_test-inl.h>
#include <zllm/text/chat_template_set.h>

namespace zllm::testing {

// Control tokens of the small tokenizer. A prompt of the tests ends with kTurn.
constexpr std::string_view kTurn = "<|im_start|>";
constexpr std::string_view kEnd = "<|im_end|>";

// Says its script after the last kTurn of a sequence, by the rows that its states really hold, and
// then kEnd; other tokens are likelier the lower their id.
class ScriptedModel final : public runtime::AnyModel {
 public:
  static constexpr std::uint64_t kContext = 512;

  ScriptedModel(const text::Tokenizer& tokenizer, std::string_view script)
      : turn_(*tokenizer.id_of(kTurn)), states_(make_states()) {
    info_.architecture = "scripted";
    info_.backend = "toy";
    info_.limits = {.vocabulary = static_cast<std::uint32_t>(tokenizer.vocabulary_size()),
                    .context = kContext,
                    .rows = 64};
    script_ = *tokenizer.encode(script, {.parse_special = true});
    script_.push_back(*tokenizer.id_of(kEnd));
  }

  const runtime::ModelInfo& info() const override { return info_; }
  runtime::SequenceStates& states() override { return *states_; }

  Result<runtime::RoundOutput> submit(const runtime::Round& round) override {
    ZLLM_TRY(runtime::validate(round, info_.limits));
    ZLLM_TRY(states_->reserve(round));
    ZLLM_TRY(const auto pages, states_->segments(round));
    runtime::RoundOutput output{.vocabulary = info_.limits.vocabulary, .logits = {}};
    for (std::size_t i = 0; i < pages.size(); ++i) {
      const runtime::Segment& segment = round.segments[i];
      backend_.store(states_->cache(), pages[i], segment.tokens);
      for (const std::uint32_t row : segment.logit_rows) {
        append_row(pages[i], segment.start + row, output.logits);
      }
    }
    return output;
  }

 private:
  using States = runtime::PagedStates<runtime::toy::Backend>;

  std::unique_ptr<States> make_states() {
    const backend::PagedCacheSpec pages{.planes = {}, .pages = 2000};
    return std::make_unique<States>(backend_, std::move(*backend_.paged_cache(pages)), pages,
                                    kContext);
  }

  void append_row(const backend::PagedSegment& pages, std::uint64_t last,
                  std::vector<float>& logits) {
    constexpr auto kPage = runtime::toy::Backend::kPageTokens;
    const auto token_at = [&](std::uint64_t at) {
      return states_->cache().pages[pages.pages[at / kPage].value()][at % kPage];
    };
    std::uint64_t said = 0;
    while (said < last && token_at(last - said) != turn_) {
      ++said;
    }
    const TokenId next = script_[std::min<std::size_t>(said, script_.size() - 1)];
    for (std::uint32_t token = 0; token < info_.limits.vocabulary; ++token) {
      const float rest = -0.001F * static_cast<float>(token);
      logits.push_back(static_cast<TokenId>(token) == next ? 20.0F : rest);
    }
  }

  TokenId turn_;
  runtime::ModelInfo info_;
  runtime::toy::Backend backend_;
  std::unique_ptr<States> states_;
  std::vector<TokenId> script_;
};

constexpr std::string_view kTemplate =
    "{% for m in messages %}{% if m.content == 'raise' %}{{ raise_exception('No raising here.') }}"
    "{% endif %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>{% endif %}";
constexpr std::string_view kToolTemplate =
    "{% if tools %}<tool_call> {{ tools | tojson }}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>{% endif %}";

inline EngineParts scripted_parts(std::string_view script) {
  const text::Tokenizer tokenizer = small_tokenizer();
  return {.model = std::make_unique<ScriptedModel>(tokenizer, script),
          .text = {.tokenizer = tokenizer, .templates = {}, .special_tokens = {}},
          .end_tokens = {*tokenizer.id_of(kEnd)}};
}

inline Result<std::unique_ptr<Engine>> scripted_engine(std::string_view script,
                                                       std::string_view chat_template = kTemplate,
                                                       std::string family = {}) {
  EngineOptions options;
  options.chat_template = chat_template;
  options.family = std::move(family);
  options.max_concurrent = 4;
  return Engine::create(scripted_parts(script), options);
}

}  // namespace zllm::testing
