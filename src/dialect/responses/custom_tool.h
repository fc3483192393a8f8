#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include <zllm/dialect/field_reader.h>
#include <zllm/embedded/request.h>

// Tools whose calls have free text instead of arguments. To the engine each is a function with one
// argument, the text.
namespace zllm::dialect::responses {

// By name, JSON texts of their formats.
using CustomTools = std::map<std::string, std::string, std::less<>>;

// The custom ones of a body's tools, once the tools were read.
CustomTools custom_tools(const Json& body);

// "format" of a custom tool, as the schema of the function's arguments.
std::string read_custom_format(FieldReader& tool);

// The arguments that stand for an input.
std::string custom_arguments(std::string_view input);

// The input of a call while its arguments are written.
class CustomInput {
 public:
  // What the next part of the arguments adds to the input.
  std::string add(std::string_view arguments);

 private:
  void add(char next, std::string& input);

  std::size_t quotes_ = 0;   // that were passed on the way to the input
  std::string escape_ = {};  // that has begun
  bool is_complete_ = false;
};

}  // namespace zllm::dialect::responses
