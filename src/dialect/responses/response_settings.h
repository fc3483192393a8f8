#pragma once

#include <memory>
#include <string>
#include <vector>

#include <zllm/dialect/dialect.h>
#include <zllm/dialect/responses/custom_tool.h>
#include <zllm/dialect/responses/response_store.h>
#include <zllm/embedded/message.h>

namespace zllm::dialect::responses {

// All of a response that is known before its answer.
struct ResponseSettings {
  AnswerFacts facts;
  std::string echo;  // members of the response object that repeat the request, without brackets
  CustomTools custom_tools = {};
  bool has_log_probabilities = false;
  bool packs_reasoning = false;
  bool is_stored = true;
  bool is_background = false;
  std::shared_ptr<EventLog> events = {};  // of a stream that can be read again
  std::string caller = {};
  std::vector<std::string> input_items = {};
  std::vector<Message> conversation = {};  // up to the answer, without instructions
};

std::string response_id(const AnswerFacts& facts);

}  // namespace zllm::dialect::responses
