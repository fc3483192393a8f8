#include <zllm/embedded/prompt.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/embedded/conversation_json.h>
#include <zllm/embedded/oldest_turns.h>
#include <zllm/embedded/random_name.h>

namespace zllm {
namespace {

constexpr std::string_view kBlank = " \t\n\r\f\v";

Failure template_failure(const Error& error) {
  // Whatever stops a template from rendering this conversation is the conversation's to mend.
  const bool is_internal = error.code == Code::internal;
  return {is_internal ? FailureKind::internal : FailureKind::invalid, error.message, "messages"};
}

// Cuts the rendered prompt where the last message's content ends. A template that trims content
// has eaten the blank after the mark; then blanks before it would be trimmed as well.
Outcome<std::string> cut_at(std::string rendered, const std::string& mark) {
  const std::size_t end = rendered.rfind(mark);
  if (end == std::string::npos) {
    return Failure(FailureKind::invalid,
                   "the chat template does not keep the last message, so it cannot be continued",
                   "continue_final_message");
  }
  const bool is_trimmed = rendered.compare(end + mark.size(), 1, " ") != 0;
  rendered.resize(end);
  if (is_trimmed) {
    rendered.resize(rendered.find_last_not_of(kBlank) + 1);
  }
  return rendered;
}

// Few texts have more bytes for a token; of those that are longer than this a beginning is encoded
// first, so that a request that is refused anyway costs no more than one that fits.
constexpr std::uint64_t kBytesOfToken = 64;

// Whether a beginning of the text alone is too long for the context, by so much that the cut does
// not matter. context: 0 = no text is.
Outcome<Done> check_beginning(const ModelText& text, const Request& request,
                              std::string_view rendered, std::uint64_t context) {
  if (context == 0 || rendered.size() / kBytesOfToken <= context) {
    return Done();
  }
  std::string_view beginning = rendered.substr(0, context * kBytesOfToken);
  beginning.remove_suffix(utf8_incomplete_suffix(beginning));
  const auto tokens = text.tokenizer.encode(beginning, {.parse_special = true});
  if (tokens.ok() && tokens->size() / 2 > context) {
    return too_long(request, concat("more than ", tokens->size() - 1), context);
  }
  return Done();
}

// Of the request's conversation, or of what is left of it.
Outcome<Prompt> of_conversation(const ModelText& text, text::PromptGuard guard,
                                const Request& request, const Conversation& conversation,
                                std::uint64_t context) {
  ZLLM_TRY(const text::ChatTemplate chosen, choose_template(text, conversation));
  const std::string mark =
      conversation.continues_last_message ? concat("END", random_name(24)) : std::string();
  const std::string end_mark = mark.empty() ? mark : mark + " ";
  ZLLM_TRY(const std::string json, conversation_json({.conversation = conversation,
                                                      .reasoning = request.reasoning,
                                                      .template_source = chosen.source(),
                                                      .end_mark = end_mark}));
  auto guarded = guard.guard(json);
  if (!guarded.ok()) {
    return template_failure(guarded.error());
  }
  auto result = chosen.render(
      *guarded, {.special_tokens = text.special_tokens, .local_seconds = std::nullopt});
  if (!result.ok()) {
    return template_failure(result.error());
  }
  std::string rendered = *std::move(result);
  if (!mark.empty()) {
    ZLLM_TRY(rendered, cut_at(std::move(rendered), mark));
  }
  ZLLM_TRY(check_beginning(text, request, rendered, context));
  auto tokens = guard.encode(rendered);
  if (!tokens.ok()) {
    return template_failure(tokens.error());
  }
  return Prompt{.tokens = *std::move(tokens),
                .text = guard.plain(rendered),
                .added_begin = 0,
                .template_source = std::string(chosen.source())};
}

constexpr std::uint64_t kUsualAnswerShare = 8;  // of so many; for an answer without a limit

// With the fewest turns left out that make room for the answer: as much as it may take where that
// is to be had, else for its first token.
class FittingPrompt {
 public:
  FittingPrompt(const ModelText& text, const text::PromptGuard& guard, const Request& request,
                const PromptLimit& limit)
      : text_(text),
        guard_(guard),
        request_(request),
        limit_(limit),
        conversation_(std::get<Conversation>(request.input)),
        turns_(conversation_),
        room_(std::max<std::uint64_t>(
            request.max_tokens.value_or(limit.context / kUsualAnswerShare), 1)) {}

  Outcome<Prompt> make() {
    Outcome<Prompt> whole = without(0, limit_.context);
    if (fits(whole) || is_refused(whole)) {
      return whole;
    }
    Outcome<Prompt> shortest = without(turns_.count(), limit_.context);
    if (is_refused(shortest)) {
      return shortest;
    }
    if (!fits(shortest)) {
      room_ = 1;
      if (fits(whole)) {
        return whole;
      }
    }
    if (!fits(shortest)) {
      return limit_.refuses_long ? shortest : without(turns_.count(), 0);
    }
    return between(std::move(shortest));
  }

 private:
  Outcome<Prompt> without(std::size_t count, std::uint64_t context) const {
    return of_conversation(text_, guard_, request_, turns_.without(count), context);
  }
  bool fits(Outcome<Prompt>& prompt) const {
    return prompt.ok() && prompt->tokens.size() + room_ <= limit_.context;
  }
  static bool is_refused(const Outcome<Prompt>& prompt) {
    return !prompt.ok() && prompt.error().kind != FailureKind::too_long;
  }

  // fitting: without all turns.
  Outcome<Prompt> between(Outcome<Prompt> fitting) const {
    std::size_t too_few = 0;
    std::size_t enough = turns_.count();
    while (enough - too_few > 1) {
      const std::size_t middle = too_few + (enough - too_few) / 2;
      Outcome<Prompt> tried = without(middle, limit_.context);
      if (is_refused(tried)) {
        return tried;
      }
      if (fits(tried)) {
        enough = middle;
        fitting = std::move(tried);
      } else {
        too_few = middle;
      }
    }
    return fitting;
  }

  const ModelText& text_;
  const text::PromptGuard& guard_;
  const Request& request_;
  const PromptLimit& limit_;
  const Conversation& conversation_;
  OldestTurns turns_;
  std::uint64_t room_;
};

Outcome<Prompt> of_text(const ModelText& text, const Request& request, const std::string& raw,
                        std::uint64_t context) {
  ZLLM_TRY(check_beginning(text, request, raw, context));
  auto tokens = text.tokenizer.encode(raw, {.parse_special = true});
  if (!tokens.ok()) {
    return Failure::from(tokens.error(), "prompt");
  }
  std::size_t added = text.tokenizer.begin(*tokens);
  // Nothing is how a text begins, whether or not the model wants that told before every prompt.
  if (const auto first = text.tokenizer.begin_of_sequence(); first && tokens->empty()) {
    tokens->push_back(*first);
    added = 1;
  }
  return Prompt{.tokens = *std::move(tokens), .text = raw, .added_begin = added};
}

Outcome<Prompt> of_ids(const ModelText& text, const std::vector<TokenId>& ids) {
  const auto decoded = text.tokenizer.decode(ids);
  if (!decoded.ok()) {
    return Failure::from(decoded.error(), "prompt");
  }
  return Prompt{.tokens = ids, .text = *decoded};
}

bool has_calls(const Message& message) { return !message.tool_calls.empty(); }

}  // namespace

Outcome<text::ChatTemplate> choose_template(const ModelText& text,
                                            const Conversation& conversation) {
  const bool has_tools = !conversation.tools.empty();
  auto chosen = text.templates.choose(has_tools);
  if (!chosen.ok()) {
    return Failure(FailureKind::unsupported, chosen.error().message, "messages");
  }
  if (has_tools && !chosen->mentions_tools()) {
    return Failure(FailureKind::unsupported,
                   "the model's chat template does not take tools; another template can be given",
                   "tools");
  }
  // A template that shows no calls would leave the model with results of nothing.
  const bool shows_calls = chosen->source().find("tool_calls") != std::string_view::npos;
  if (!shows_calls && std::ranges::any_of(conversation.messages, has_calls)) {
    return Failure(
        FailureKind::unsupported,
        "the model's chat template does not take calls of tools, and a message has some; "
        "another template can be given",
        "messages");
  }
  return *std::move(chosen);
}

Failure too_long(const Request& request, std::string_view length, std::uint64_t context) {
  return {FailureKind::too_long,
          concat("the prompt has ", length, " tokens, but the context holds ", context,
                 " tokens of prompt and answer together"),
          std::holds_alternative<Conversation>(request.input) ? "messages" : "prompt",
          "context_length_exceeded"};
}

Outcome<Prompt> make_prompt(const ModelText& text, const text::PromptGuard& guard,
                            const Request& request, const PromptLimit& limit) {
  const std::uint64_t context = limit.refuses_long ? limit.context : 0;
  if (const auto *conversation = std::get_if<Conversation>(&request.input)) {
    return conversation->drops_oldest
               ? FittingPrompt(text, guard, request, limit).make()
               : of_conversation(text, guard, request, *conversation, context);
  }
  const RawPrompt& raw = std::get<RawPrompt>(request.input);
  if (const auto *words = std::get_if<std::string>(&raw.prompt)) {
    return of_text(text, request, *words, context);
  }
  return of_ids(text, std::get<std::vector<TokenId>>(raw.prompt));
}

}  // namespace zllm
