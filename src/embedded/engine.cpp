#include <zllm/embedded/engine.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/embedded/fence_plan.h>
#include <zllm/embedded/model_fences.h>
#include <zllm/embedded/prompt.h>
#include <zllm/embedded/request_check.h>
#include <zllm/embedded/running_answer.h>
#include <zllm/embedded/sampling_choice.h>
#include <zllm/engine/loop.h>

namespace zllm {
namespace {

namespace family = text::family;

constexpr double kLongestSeconds = 1e8;  // three years; keeps the clock's arithmetic in range

Failure refused(const Error& error) {
  Failure failure = Failure::from(error);
  if (error.code == Code::resource_exhausted) {
    failure.kind = FailureKind::busy;
  }
  return failure;
}

class LoadedEngine final : public Engine {
 public:
  LoadedEngine(EngineParts parts, const family::Family& family)
      : parts_(std::move(parts)),
        guard_(parts_.text.tokenizer),
        fences_(parts_.text.tokenizer, parts_.end_tokens),
        family_(family) {}

  Status start(const EngineOptions& options);

  Outcome<std::unique_ptr<Answer>> submit(Request request) override;
  Outcome<std::string> render(const Request& request) const override;
  Outcome<std::uint64_t> count_prompt_tokens(const Request& request) const override;
  Outcome<std::vector<TokenId>> tokenize(std::string_view text, bool add_special,
                                         bool parse_special) const override;
  Outcome<std::string> detokenize(const std::vector<TokenId>& tokens) const override;
  std::string token_bytes(TokenId token) const override {
    return std::string(tokenizer().token_bytes(token));
  }
  const EngineInfo& info() const override { return info_; }
  engine::Statistics statistics() const override { return loop_->statistics(); }

 private:
  const text::Tokenizer& tokenizer() const { return parts_.text.tokenizer; }
  std::size_t vocabulary() const {
    return std::min<std::size_t>(tokenizer().vocabulary_size(),
                                 parts_.model->info().limits.vocabulary);
  }
  EngineInfo describe(double usual_temperature) const;
  // refuses_long: as for make_prompt.
  Outcome<Prompt> checked_prompt(const Request& request, bool refuses_long = false) const;
  Outcome<std::unique_ptr<engine::Fence>> make_fence(const Request& request, const Prompt& prompt,
                                                     bool is_reasoning_open) const;
  Outcome<engine::Request> engine_request(const Request& request, const Prompt& prompt) const;
  AnswerPlan answer_plan(const Request& request, Prompt prompt, bool is_reasoning_open) const;

  EngineParts parts_;
  text::PromptGuard guard_;
  ModelFences fences_;
  const family::Family& family_;
  EngineInfo info_;
  std::unique_ptr<engine::Loop> loop_;  // ends before the model
};

EngineInfo LoadedEngine::describe(double usual_temperature) const {
  const runtime::ModelInfo& model = parts_.model->info();
  const text::ChatTemplateSet& templates = parts_.text.templates;
  const auto& config = parts_.generation_config;
  EngineInfo info{.path = model.path,
                  .architecture = model.architecture,
                  .backend = model.backend,
                  .family = std::string(family_.name()),
                  .identity = parts_.identity,
                  .parameters = model.parameter_count,
                  .weight_bytes = model.weight_bytes,
                  .context = model.limits.context,
                  .vocabulary = vocabulary(),
                  .has_chat_template = !templates.empty(),
                  .sampling = model_sampling(config ? &*config : nullptr, usual_temperature),
                  .warnings = parts_.warnings};
  if (const auto chosen = templates.choose(true); chosen.ok()) {
    info.template_takes_tools = chosen->mentions_tools();
  }
  const auto odd = tokenizer().warnings();
  info.warnings.insert(info.warnings.end(), odd.begin(), odd.end());
  if (const Status usual = sampling::validate(info.sampling, vocabulary()); !usual.ok()) {
    info.warnings.push_back(
        concat("generation_config.json is passed over: ", usual.error().message));
    info.sampling = model_sampling(nullptr, usual_temperature);
  }
  return info;
}

Status LoadedEngine::start(const EngineOptions& options) {
  info_ = describe(options.usual_temperature);
  if (options.prepares_fences) {
    ZLLM_TRY(fences_.get());
  }
  engine::LoopOptions loop{.sequences = options.max_concurrent,
                           .prefill_rows = options.prefill_budget,
                           .queue_length = options.queue_length,
                           .swap_bytes = options.swap_bytes,
                           .prefix_cache = {.is_enabled = options.prefix_cache,
                                            .bytes = options.prefix_cache_bytes,
                                            .entries = parts_.cached_states,
                                            .disk_folder = options.prefix_cache_folder,
                                            .disk_bytes = options.prefix_cache_folder_bytes,
                                            .model_identity = parts_.identity},
                           .check = parts_.check};
  ZLLM_TRY(loop_, engine::Loop::start(*parts_.model, std::move(loop)));
  return {};
}

Outcome<Prompt> LoadedEngine::checked_prompt(const Request& request, bool refuses_long) const {
  ZLLM_TRY(check_request(request, tokenizer()));
  const PromptLimit limit{.context = info_.context, .refuses_long = refuses_long};
  ZLLM_TRY(Prompt prompt, make_prompt(parts_.text, guard_, request, limit));
  const std::string field =
      std::holds_alternative<Conversation>(request.input) ? "messages" : "prompt";
  if (prompt.tokens.empty()) {
    return Failure(FailureKind::invalid, "the prompt has no tokens", field);
  }
  for (const TokenId token : prompt.tokens) {
    if (static_cast<std::size_t>(token) >= vocabulary()) {
      return Failure(FailureKind::invalid,
                     concat("token ", token, " of the prompt is outside the model's vocabulary of ",
                            vocabulary()),
                     field);
    }
  }
  return prompt;
}

// Null where the request asks for nothing that needs one.
Outcome<std::unique_ptr<engine::Fence>> LoadedEngine::make_fence(const Request& request,
                                                                 const Prompt& prompt,
                                                                 bool is_reasoning_open) const {
  if (!may_need_fence(request)) {
    return std::unique_ptr<engine::Fence>();
  }
  ZLLM_TRY(const text::FenceFactory *fences, fences_.get());
  const std::string_view begin = family_.reasoning_begin();
  const bool may_reason = std::holds_alternative<Conversation>(request.input) &&
                          request.reasoning.is_enabled.value_or(true) && !begin.empty() &&
                          prompt.template_source.find(begin) != std::string::npos;
  ZLLM_TRY(const FencePlan plan, plan_fence({.request = request,
                                             .family = family_,
                                             .tokenizer = tokenizer(),
                                             .fences = *fences,
                                             .is_reasoning_open = is_reasoning_open,
                                             .may_reason = may_reason}));
  auto fence = fences->make(plan.spec);
  if (!fence.ok()) {
    Failure failure = Failure::from(fence.error(), plan.field);
    if (failure.kind == FailureKind::out_of_memory) {
      failure.kind = FailureKind::invalid;  // a bound of the request, not the machine's memory
    }
    return failure;
  }
  return *std::move(fence);
}

Outcome<engine::Request> LoadedEngine::engine_request(const Request& request,
                                                      const Prompt& prompt) const {
  const std::uint64_t context = info_.context;
  const std::uint64_t length = prompt.tokens.size();
  if (length >= context) {
    return too_long(request, to_text(length), context);
  }
  engine::Request made;
  made.prompt = prompt.tokens;
  ZLLM_TRY(made.sampling, sampling_parameters(request.sampling, info_.sampling, vocabulary()));
  made.choices = std::max(request.choices, request.candidates);
  made.max_tokens =
      std::clamp<std::uint64_t>(request.max_tokens.value_or(context), 1, context - length);
  made.min_tokens = request.min_tokens;
  made.end_tokens = request.stop_tokens;
  if (!request.ignores_end) {
    made.end_tokens.insert(made.end_tokens.end(), parts_.end_tokens.begin(),
                           parts_.end_tokens.end());
  }
  made.vocabulary = vocabulary();
  made.top_log_probabilities = request.top_log_probabilities;
  if (made.choices > request.choices && !made.top_log_probabilities) {
    made.top_log_probabilities = 0;
  }
  made.wants_prompt_log_probabilities = request.echoes_prompt && request.top_log_probabilities;
  made.caller = request.caller;
  made.priority = request.priority;
  made.reads_cache = request.uses_prefix_cache;
  made.writes_cache = request.uses_prefix_cache;
  if (request.time_limit_seconds) {
    const std::chrono::duration<double> limit(
        std::min(*request.time_limit_seconds, kLongestSeconds));
    made.deadline =
        engine::Clock::now() + std::chrono::duration_cast<engine::Clock::duration>(limit);
  }
  return made;
}

AnswerPlan LoadedEngine::answer_plan(const Request& request, Prompt prompt,
                                     bool is_reasoning_open) const {
  AnswerPlan plan{.choices = request.choices,
                  .prompt_tokens = prompt.tokens.size(),
                  .tells_scores = request.top_log_probabilities.has_value()};
  if (request.echoes_prompt) {
    prompt.tokens.erase(prompt.tokens.begin(),
                        prompt.tokens.begin() + static_cast<std::ptrdiff_t>(prompt.added_begin));
    plan.echo = Echo{.text = std::move(prompt.text),
                     .tokens = std::move(prompt.tokens),
                     .hidden = prompt.added_begin};
    plan.tells_prompt_alone = request.max_tokens == 0;
  }
  const auto *conversation = std::get_if<Conversation>(&request.input);
  const std::vector<family::Tool> tools =
      conversation == nullptr ? std::vector<family::Tool>() : family_tools(conversation->tools);
  for (std::uint32_t i = 0; i < std::max(request.choices, request.candidates); ++i) {
    // check_request has made them once.
    ChoiceParts parts{.tokenizer = tokenizer(),
                      .parser = nullptr,
                      .stops = *text::StopStrings::create(request.stop),
                      .stop_tokens = request.stop_tokens,
                      .max_tokens = request.max_tokens.value_or(0),
                      .is_reasoning_open = is_reasoning_open && request.reasoning.is_separate,
                      .reasoning_end = family_.reasoning_end()};
    if (conversation != nullptr) {
      parts.allows_parallel_calls = conversation->allows_parallel_calls;
      parts.tells_calls_alone =
          conversation->tool_choice.rule == ToolRule::required && request.reasoning.is_separate;
      parts.parser = family_.parser({.tools = tools,
                                     .allows_calls = allows_calls(*conversation),
                                     .is_reasoning_open = is_reasoning_open,
                                     .separates_reasoning = request.reasoning.is_separate});
    }
    plan.candidates.push_back(std::move(parts));
  }
  return plan;
}

Outcome<std::unique_ptr<Answer>> LoadedEngine::submit(Request request) {
  ZLLM_TRY(Prompt prompt, checked_prompt(request, true));
  ZLLM_TRY(engine::Request made, engine_request(request, prompt));
  const bool is_chat = std::holds_alternative<Conversation>(request.input);
  const bool is_open = is_chat && family::is_reasoning_open(family_, prompt.text);
  ZLLM_TRY(made.fence, make_fence(request, prompt, is_open));
  AnswerPlan plan = answer_plan(request, std::move(prompt), is_open);
  auto stream = loop_->submit(std::move(made));
  if (!stream.ok()) {
    return refused(stream.error());
  }
  return std::unique_ptr<Answer>(
      std::make_unique<RunningAnswer>(*std::move(stream), std::move(plan)));
}

Outcome<std::string> LoadedEngine::render(const Request& request) const {
  ZLLM_TRY(Prompt prompt, checked_prompt(request));
  return std::move(prompt.text);
}

Outcome<std::uint64_t> LoadedEngine::count_prompt_tokens(const Request& request) const {
  ZLLM_TRY(const Prompt prompt, checked_prompt(request));
  return std::uint64_t{prompt.tokens.size()};
}

Outcome<std::vector<TokenId>> LoadedEngine::tokenize(std::string_view text, bool add_special,
                                                     bool parse_special) const {
  auto tokens =
      tokenizer().encode(text, {.parse_special = parse_special, .add_begin = add_special});
  if (!tokens.ok()) {
    return Failure::from(tokens.error(), "content");
  }
  return *std::move(tokens);
}

Outcome<std::string> LoadedEngine::detokenize(const std::vector<TokenId>& tokens) const {
  auto text = tokenizer().decode(tokens);
  if (!text.ok()) {
    return Failure::from(text.error(), "tokens");
  }
  return *std::move(text);
}

void add_missing(std::vector<TokenId>& to, std::span<const TokenId> tokens) {
  for (const TokenId token : tokens) {
    if (std::ranges::find(to, token) == to.end()) {
      to.push_back(token);
    }
  }
}

Result<const family::Family *> choose_family(const std::string& name, const ModelText& text) {
  if (name.empty()) {
    const auto chosen = text.templates.choose(true);
    return &family::detect_family(chosen.ok() ? chosen->source() : std::string_view());
  }
  if (const family::Family *found = family::find_family(name)) {
    return found;
  }
  std::string known;
  for (const family::Family *each : family::all_families()) {
    known += concat(known.empty() ? "" : ", ", each->name());
  }
  return Error{Code::invalid_argument, concat("family ", quote(name), " is not one of ", known)};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(EngineParts parts, const EngineOptions& options) {
  if (options.max_concurrent == 0) {
    return Error{Code::invalid_argument, "max_concurrent must be at least 1"};
  }
  if (!options.chat_template.empty()) {
    ZLLM_TRY(parts.text.templates, text::ChatTemplateSet::from_source(options.chat_template));
  }
  ZLLM_TRY(const family::Family *chosen, choose_family(options.family, parts.text));
  add_missing(parts.end_tokens, parts.text.tokenizer.end_tokens());
  auto engine = std::make_unique<LoadedEngine>(std::move(parts), *chosen);
  ZLLM_TRY(engine->start(options));
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace zllm
