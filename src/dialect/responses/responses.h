#pragma once

#include <memory>
#include <string>

#include <zllm/base/json.h>
#include <zllm/dialect/dialect.h>
#include <zllm/dialect/responses/response_store.h>

// OpenAI's Responses: platform.openai.com/docs/api-reference/responses.
namespace zllm::dialect::responses {

struct ResponseExchange {
  Exchange exchange;
  std::string id;              // "resp_" ...
  bool is_stored = true;       // "store"
  bool is_background = false;  // "background": runs on without its client
  // Of a background response, what the server stores once the engine has taken the request, and
  // answers with. The encoder replaces it while it is there.
  StoredResponse queued = {};
};

// Reads a body of POST /v1/responses. `store` gives what previous_response_id names, of the same
// caller, and is where the encoder keeps the response as it grows; it outlives the exchange.
Outcome<ResponseExchange> read(const Json& body, const AnswerFacts& facts,
                               const std::string& caller,
                               const std::shared_ptr<ResponseStore>& store);

}  // namespace zllm::dialect::responses
