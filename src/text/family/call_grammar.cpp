#include <zllm/text/family/call_grammar.h>

#include <array>

#include <zllm/base/text.h>
#include <zllm/text/family/grammar_writer.h>
#include <zllm/text/family/markup_grammar.h>

namespace zllm::text::family {
namespace {

using Grammar = Result<std::string> (*)(GrammarWriter& writer);

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

// {"name": "..", KEY: {..}}
std::string json_call(GrammarWriter& writer, const Tool& tool, std::string_view key) {
  return concat(lark_string(concat("{\"name\": ", json_string(tool.name), ", \"", key, "\": ")),
                " ", writer.arguments(tool), " \"}\"");
}

Result<std::string> hermes(GrammarWriter& writer) {
  const std::string call = writer.each_tool([&](const Tool& tool) {
    return concat(writer.space(), " ", json_call(writer, tool, "arguments"), " ", writer.space(),
                  " ", writer.marker("</tool_call>"));
  });
  return writer.finish("<tool_call>", writer.repeat(call, concat(writer.space(), " ",
                                                                 writer.marker("<tool_call>"))));
}

Result<std::string> function_calls(GrammarWriter& writer, std::string_view begin,
                                   std::string_view end, std::string_view pad) {
  const std::string behind_key = concat(">", pad);
  const std::string value_end = concat(pad, "</parameter>");
  const MarkupCallForm form = {.call_begin = "<function=",
                               .name_end = ">\n",
                               .call_end = "</function>",
                               .key_begin = "<parameter=",
                               .string_begin = behind_key,
                               .value_begin = behind_key,
                               .value_end = value_end};
  const std::string call = writer.each_tool([&](const Tool& tool) {
    return concat(writer.space(), " ", markup_call(writer, tool, form), " ", writer.space(), " ",
                  writer.marker(end));
  });
  return writer.finish(begin,
                       writer.repeat(call, concat(writer.space(), " ", writer.marker(begin))));
}

Result<std::string> qwen3_coder(GrammarWriter& writer) {
  return function_calls(writer, "<tool_call>", "</tool_call>", "\n");
}

Result<std::string> seed_oss(GrammarWriter& writer) {
  return function_calls(writer, "<seed:tool_call>", "</seed:tool_call>", "");
}

Result<std::string> glm4(GrammarWriter& writer) {
  const MarkupCallForm form = {.call_begin = "",
                               .name_end = "",
                               .call_end = "</tool_call>",
                               .key_begin = "<arg_key>",
                               .string_begin = "</arg_key>\n<arg_value>",
                               .value_begin = "</arg_key>\n<arg_value>",
                               .value_end = "</arg_value>",
                               .tokens = {"</arg_key>", "<arg_value>"}};
  const std::string call =
      writer.each_tool([&](const Tool& tool) { return markup_call(writer, tool, form); });
  return writer.finish("<tool_call>", writer.repeat(call, concat(writer.space(), " ",
                                                                 writer.marker("<tool_call>"))));
}

Result<std::string> minimax(GrammarWriter& writer) {
  const MarkupCallForm form = {.call_begin = "<invoke name=\"",
                               .name_end = "\">",
                               .call_end = "</invoke>",
                               .key_begin = "<parameter name=\"",
                               .string_begin = "\">",
                               .value_begin = "\">",
                               .value_end = "</parameter>"};
  const std::string call =
      writer.each_tool([&](const Tool& tool) { return markup_call(writer, tool, form); });
  return writer.finish("<minimax:tool_call>",
                       concat(writer.space(), " ", writer.repeat(call, writer.space()), " ",
                              writer.space(), " ", writer.marker("</minimax:tool_call>")));
}

Result<std::string> deepseek_v32(GrammarWriter& writer) {
  const std::vector<std::string_view> tokens = {"\uff5cDSML\uff5c"};
  const MarkupCallForm form = {.call_begin = "<\uff5cDSML\uff5cinvoke name=\"",
                               .name_end = "\">",
                               .call_end = "</\uff5cDSML\uff5cinvoke>",
                               .key_begin = "<\uff5cDSML\uff5cparameter name=\"",
                               .string_begin = "\" string=\"true\">",
                               .value_begin = "\" string=\"false\">",
                               .value_end = "</\uff5cDSML\uff5cparameter>",
                               .tokens = tokens};
  const std::string call =
      writer.each_tool([&](const Tool& tool) { return markup_call(writer, tool, form); });
  const std::string calls =
      concat(writer.space(), " ", writer.repeat(call, writer.space()), " ", writer.space(), " ",
             writer.marker("</\uff5cDSML\uff5cfunction_calls>", tokens));
  const std::string_view trigger = "<\uff5cDSML\uff5cfunction_calls>";
  if (!writer.is_special(tokens.front())) {
    return writer.finish(trigger, calls);
  }
  // The control token stands within the trigger, behind a "<" that is text.
  const std::string begin = writer.marker(trigger, tokens);
  if (writer.request().rule == CallRule::required) {
    return writer.finish_with(concat(writer.space(), " ", begin, " ", calls));
  }
  const std::string rest = concat(writer.marker(tokens.front()), " \"function_calls>\" ", calls);
  return writer.finish_with(concat("\"\" | /(?s:.+)/ | /(?s:.*<)/ ", rest));
}

Result<std::string> deepseek_v3(GrammarWriter& writer) {
  const std::string call = writer.each_tool([&](const Tool& tool) {
    return concat(writer.marker("<\uff5ctool\u2581call\u2581begin\uff5c>"), " \"function\" ",
                  writer.marker("<\uff5ctool\u2581sep\uff5c>"), " ",
                  lark_string(concat(tool.name, "\n```json\n")), " ", writer.arguments(tool),
                  " \"\\n```\" ", writer.marker("<\uff5ctool\u2581call\u2581end\uff5c>"));
  });
  return writer.finish("<\uff5ctool\u2581calls\u2581begin\uff5c>",
                       concat(writer.repeat(call, writer.space()), " ",
                              writer.marker("<\uff5ctool\u2581calls\u2581end\uff5c>")));
}

Result<std::string> deepseek_v31(GrammarWriter& writer) {
  const std::string call = writer.each_tool([&](const Tool& tool) {
    return concat(writer.marker("<\uff5ctool\u2581call\u2581begin\uff5c>"), " ",
                  lark_string(tool.name), " ", writer.marker("<\uff5ctool\u2581sep\uff5c>"), " ",
                  writer.arguments(tool), " ",
                  writer.marker("<\uff5ctool\u2581call\u2581end\uff5c>"));
  });
  return writer.finish("<\uff5ctool\u2581calls\u2581begin\uff5c>",
                       concat(writer.repeat(call, ""), " ",
                              writer.marker("<\uff5ctool\u2581calls\u2581end\uff5c>")));
}

Result<std::string> kimi_k2(GrammarWriter& writer) {
  const std::string call = writer.each_tool([&](const Tool& tool) {
    return concat(writer.marker("<|tool_call_begin|>"), " ",
                  lark_string(concat("functions.", tool.name, ":")), " /[0-9]{1,3}/ ",
                  writer.marker("<|tool_call_argument_begin|>"), " ", writer.arguments(tool), " ",
                  writer.marker("<|tool_call_end|>"));
  });
  return writer.finish(
      "<|tool_calls_section_begin|>",
      concat(writer.repeat(call, ""), " ", writer.marker("<|tool_calls_section_end|>")));
}

// NAME[ARGS]{..} of tokenizers that have the marker as a token, else an array.
Result<std::string> mistral(GrammarWriter& writer) {
  constexpr std::string_view kCalls = "[TOOL_CALLS]";
  if (writer.is_special("[ARGS]")) {
    const std::string call = writer.each_tool([&](const Tool& tool) {
      return concat(lark_string(tool.name), " ", writer.marker("[ARGS]"), " ",
                    writer.arguments(tool));
    });
    return writer.finish(kCalls, writer.repeat(call, writer.marker(kCalls)));
  }
  const std::string call =
      writer.each_tool([&](const Tool& tool) { return json_call(writer, tool, "arguments"); });
  return writer.finish(kCalls, concat("(\" \")? \"[\" ", writer.repeat(call, "\", \""), " \"]\""));
}

Result<std::string> llama3(GrammarWriter& writer) {
  const std::string call =
      writer.each_tool([&](const Tool& tool) { return json_call(writer, tool, "parameters"); });
  return writer.finish_bare(call, "{");
}

Result<std::string> generic(GrammarWriter& writer) {
  const std::string call =
      writer.each_tool([&](const Tool& tool) { return json_call(writer, tool, "arguments"); });
  return writer.finish_bare(call, "{");
}

// A call ends the answer by its own token, so there is never more than one.
Result<std::string> harmony(GrammarWriter& writer) {
  const std::string channel = writer.marker("<|channel|>");
  const std::string message = writer.marker("<|message|>");
  const std::string call = writer.each_tool([&](const Tool& tool) {
    return concat(lark_string(concat("commentary to=functions.", tool.name)), " (\" \" (",
                  writer.marker("<|constrain|>"), ")? \"json\")? ", message, " ",
                  writer.arguments(tool));
  });
  const std::string role = concat("(", writer.marker("<|start|>"), " \"assistant\")?");
  const std::string text = writer.request().rule == CallRule::required
                               ? std::string()
                               : concat(" | (\"final\" | \"commentary\") ", message, " /(?s:.+)/?");
  return writer.finish_with(concat(role, " ", channel, " (", call, text, ")"));
}

struct Entry {
  std::string_view family;
  Grammar grammar;
};

constexpr auto kGrammars = std::to_array<Entry>({{"hermes", hermes},
                                                 {"qwen3_coder", qwen3_coder},
                                                 {"seed_oss", seed_oss},
                                                 {"llama3", llama3},
                                                 {"mistral", mistral},
                                                 {"glm4", glm4},
                                                 {"deepseek_v3", deepseek_v3},
                                                 {"deepseek_v31", deepseek_v31},
                                                 {"deepseek_v32", deepseek_v32},
                                                 {"kimi_k2", kimi_k2},
                                                 {"minimax", minimax},
                                                 {"harmony", harmony},
                                                 {"generic", generic}});

}  // namespace

Result<std::string> call_grammar(std::string_view family, const GrammarRequest& request,
                                 const SpecialSpellings& special) {
  for (const Entry& entry : kGrammars) {
    if (entry.family == family) {
      GrammarWriter writer(request, special);
      return entry.grammar(writer);
    }
  }
  return Error{Code::unsupported, concat("calls of the family ", family, " have no grammar")};
}

}  // namespace zllm::text::family
