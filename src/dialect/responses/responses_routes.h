#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/dialect/responses/response_store.h>
#include <zllm/embedded/failure.h>

// What the routes under /v1/responses/{id} answer, without HTTP.
namespace zllm::dialect::responses {

// Of a URL, decoded, in order.
using QueryParameters = std::vector<std::pair<std::string, std::string>>;

// No response of that id is stored for the caller.
Failure unknown_response(std::string_view id);

// GET /v1/responses/{id}: the stored body, or its stream again.
struct StoredQuery {
  bool is_streaming = false;
  std::size_t first_event = 0;  // of the stream
};
// Honours stream and starting_after for what was streamed in the background, and include.
Outcome<StoredQuery> read_stored_query(const StoredResponse& response,
                                       const QueryParameters& parameters);
// GET /v1/responses/{id}/input_items: {"object": "list", "data", "first_id", "last_id",
// "has_more"}. Honours after, limit (1 to 100, else 20), order (desc, else asc) and include.
Outcome<std::string> input_items_body(const StoredResponse& response, const QueryParameters& query);
// POST /v1/responses/input_tokens
std::string input_tokens_body(std::uint64_t count);
// DELETE /v1/responses/{id}
std::string deleted_body(std::string_view id);
// POST /v1/responses/{id}/cancel: whether there is an answer to cancel. A response that was
// cancelled is given as it is; one that has ended otherwise or is no background response is
// refused.
Outcome<bool> needs_cancel(const StoredResponse& response);
// The response as it is once its answer is cancelled.
StoredResponse cancelled(StoredResponse response);

// The failure with its field as a request of this dialect names it.
Failure named(Failure failure);
std::string error_body(const Failure& failure);

}  // namespace zllm::dialect::responses
