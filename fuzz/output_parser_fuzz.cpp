#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <zllm/base/check.h>
#include <zllm/base/utf8.h>
#include <zllm/text/family/family.h>
#include <zllm/text/family/json_scanner.h>

namespace {

using namespace zllm;
using namespace zllm::text::family;

// Bytes above ASCII stand for these, so that the text is UTF-8 and markers are found soon.
constexpr std::array<std::string_view, 64> kWords = {
    "<think>",
    "</think>",
    "[THINK]",
    "[/THINK]",
    "<tool_call>",
    "</tool_call>",
    "<tool_calls>",
    "</tool_calls>",
    "{\"name\": \"known\", ",
    "\"arguments\": {",
    "\"parameters\": {",
    "}}",
    "\"id\": \"abc\"",
    "<function=",
    "known",
    "other",
    "<parameter=",
    "</parameter>",
    "</function>",
    "<arg_key>",
    "</arg_key>",
    "<arg_value>",
    "</arg_value>",
    "[TOOL_CALLS]",
    "[ARGS]",
    "[CALL_ID]",
    "<\uff5ctool\u2581calls\u2581begin\uff5c>",
    "<\uff5ctool\u2581calls\u2581end\uff5c>",
    "<\uff5ctool\u2581call\u2581begin\uff5c>",
    "<\uff5ctool\u2581call\u2581end\uff5c>",
    "<\uff5ctool\u2581sep\uff5c>",
    "```json\n",
    "```",
    "<\uff5cDSML\uff5cfunction_calls>",
    "</\uff5cDSML\uff5cfunction_calls>",
    "<\uff5cDSML\uff5cinvoke name=\"known\">",
    "</\uff5cDSML\uff5cinvoke>",
    "<\uff5cDSML\uff5cparameter name=\"text\" string=\"true\">",
    "</\uff5cDSML\uff5cparameter>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<invoke name=\"known\">",
    "</invoke>",
    "<parameter name=\"count\">",
    "<|start|>",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
    "<|call|>",
    "<|constrain|>json",
    " to=functions.known",
    "analysis",
    "final",
    "<|python_tag|>",
    "functions.known:0",
    "\\ud83d",
    "count",
    "text",
    "\xf0\x9f\x98\x80"};

std::string text_of(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    if (byte < 0x80) {
      text += static_cast<char>(byte);
    } else {
      text += kWords[byte % kWords.size()];
    }
  }
  return text;
}

struct Summary {
  std::string content;
  std::string reasoning;
  std::string calls;  // names, ids and arguments
  std::string order;
  std::vector<std::string> arguments;
  bool operator==(const Summary&) const = default;
};

class Reader {
 public:
  void take(std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      std::visit([this](const auto& kind) { add(kind); }, piece);
    }
    pieces.clear();
  }
  Summary summary() const {
    ZLLM_CHECK(!is_open_, "a call without an end");
    return summary_;
  }

 private:
  void mark(char kind) {
    if (summary_.order.empty() || summary_.order.back() != kind) {
      summary_.order += kind;
    }
  }
  void add(const Content& piece) {
    ZLLM_CHECK(!is_open_ && is_valid_utf8(piece.text), "content in a call, or not UTF-8");
    summary_.content += piece.text;
    mark('c');
  }
  void add(const Reasoning& piece) {
    ZLLM_CHECK(!is_open_ && is_valid_utf8(piece.text), "reasoning in a call, or not UTF-8");
    summary_.reasoning += piece.text;
    if (!piece.text.empty()) {
      mark('r');
    }
  }
  void add(const CallBegin& piece) {
    ZLLM_CHECK(!is_open_ && piece.call == summary_.arguments.size(), "a call out of order");
    is_open_ = true;
    summary_.calls += piece.name + "," + piece.id + ";";
    summary_.arguments.emplace_back();
    summary_.order += '(';
  }
  void add(const CallArguments& piece) {
    ZLLM_CHECK(is_open_ && piece.call + 1 == summary_.arguments.size(), "arguments of no call");
    ZLLM_CHECK(is_valid_utf8(piece.json), "arguments that are not UTF-8");
    summary_.arguments.back() += piece.json;
  }
  void add(const CallEnd& piece) {
    ZLLM_CHECK(is_open_ && piece.call + 1 == summary_.arguments.size(), "the end of no call");
    is_open_ = false;
    summary_.order += ')';
  }

  Summary summary_;
  bool is_open_ = false;
};

Summary parse(const Family& family, const ParserOptions& options, std::string_view text,
              Ending ending, std::uint32_t seed, std::size_t longest) {
  const std::unique_ptr<OutputParser> parser = family.parser(options);
  std::mt19937 random(seed);
  Reader reader;
  std::vector<Piece> pieces;
  while (!text.empty()) {
    std::size_t size = 0;
    for (std::size_t i = 1 + random() % longest; i > 0 && size < text.size(); --i) {
      size += utf8_sequence_length(text.substr(size));
    }
    parser->add(text.substr(0, size), false, pieces);
    reader.take(pieces);
    text.remove_prefix(size);
  }
  parser->finish(pieces, ending);
  reader.take(pieces);
  return reader.summary();
}

// A beginning of a JSON object, whole or not.
void check_arguments(std::string_view arguments) {
  JsonScanner scanner;
  std::string json;
  JsonScanner::Status status = JsonScanner::Status::open;
  for (const char c : arguments) {
    ZLLM_CHECK(status == JsonScanner::Status::open, "text behind the arguments");
    status = scanner.add(c, json);
    ZLLM_CHECK(status != JsonScanner::Status::broken, "arguments that are not JSON");
  }
  ZLLM_CHECK(arguments.starts_with('{'), "arguments that are no object");
}

}  // namespace

// Whatever the answer and its pieces: the same parts, none lost.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  if (size < 3) {
    return 0;
  }
  const std::span<const Family *const> families = all_families();
  const Family& family = *families[data[0] % families.size()];
  const std::vector<Tool> tools = {
      {.name = "known",
       .parameters = R"({"properties":{"text":{"type":"string"},"count":{"type":"integer"}}})"}};
  const ParserOptions options = {.tools = tools,
                                 .allows_calls = (data[1] & 3) != 0,
                                 .is_reasoning_open = (data[1] & 4) != 0,
                                 .separates_reasoning = (data[1] & 24) != 0};
  const Ending ending = (data[1] & 32) != 0 ? Ending::cut : Ending::complete;
  const std::string text = text_of(std::span(data + 3, size - 3));
  const Summary whole = parse(family, options, text, ending, 0, text.size() + 1);
  ZLLM_CHECK(parse(family, options, text, ending, data[2], 1) == whole, "single characters differ");
  ZLLM_CHECK(parse(family, options, text, ending, data[2], 12) == whole, "pieces differ");
  for (const std::string& arguments : whole.arguments) {
    check_arguments(arguments);
  }
  if (!options.allows_calls && !options.separates_reasoning && family.name() != "harmony") {
    ZLLM_CHECK(whole.content == text, "content that is not the text");
  }
  return 0;
}
