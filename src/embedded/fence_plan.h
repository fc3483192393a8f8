#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/embedded/failure.h>
#include <zllm/embedded/request.h>
#include <zllm/text/family/family.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/tokenizer.h>

namespace zllm {

struct FenceInput {
  const Request& request;
  const text::family::Family& family;
  const text::Tokenizer& tokenizer;
  const text::FenceFactory& fences;
  bool is_reasoning_open = false;  // the prompt ends inside it
  bool may_reason = false;         // the model may open it itself
};

struct FencePlan {
  text::FenceSpec spec;
  std::string field;  // of the request, to blame where the spec does not compile
};

std::vector<text::family::Tool> family_tools(std::span<const Tool> tools,
                                             std::span<const std::string> only = {});

// Whether the model may call tools.
bool allows_calls(const Conversation& conversation);

// Whether anything of the request may need a fence; else plan_fence constrains nothing.
bool may_need_fence(const Request& request);

// What the request's format, tool choice and reasoning budget ask of every token. Calls are fenced
// where one must come, where not every tool may be called, and where one of them is strict.
Outcome<FencePlan> plan_fence(const FenceInput& input);

}  // namespace zllm
