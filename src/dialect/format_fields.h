#pragma once

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

// The form that content must have.
namespace zllm::dialect {

// response_format of OpenAI's API and what others have beside it: json_schema, grammar,
// guided_json, guided_regex, guided_choice, guided_grammar, structured_outputs. At most one of
// them.
void read_format(FieldReader& fields, ResponseFormat& format);

// One format of {name, description, schema, strict}, whose type said json_schema; a schema that is
// absent means any object. For other dialects too.
Outcome<ResponseFormat> read_json_schema(const Json& value, std::string path);

}  // namespace zllm::dialect
