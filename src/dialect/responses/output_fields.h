#pragma once

#include <string>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

namespace zllm::dialect::responses {

// How the answer is to be given.
struct OutputFields {
  bool is_streaming = false;
  bool is_stored = true;
  bool is_background = false;
  bool packs_reasoning = false;  // into "encrypted_content"
  std::string text;              // JSON texts, as the response object repeats them
  std::string reasoning;
};

// text, reasoning, include, top_logprobs, stream and its options, store, background, and fields
// about the account.
OutputFields read_output_fields(FieldReader& fields, Request& request);

}  // namespace zllm::dialect::responses
