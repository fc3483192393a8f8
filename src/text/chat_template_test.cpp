#include <zllm/text/chat_template.h>

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include <zllm/base/text.h>
#include <zllm/text/chat_template_set.h>

namespace zllm::text {
namespace {

constexpr std::string_view kHello = R"({"messages": [{"role": "user", "content": "Hello"}]})";

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Json parse(const std::string& path) {
  Result<Json> json = Json::parse(read(path), path);
  EXPECT_TRUE(json.ok()) << (json.ok() ? "" : json.error().message);
  return json.ok() ? *json : Json();
}

// Those that tools/oracle/template_vectors.py rendered with.
RenderOptions oracle_options() {
  RenderOptions options;
  options.special_tokens = {{"bos_token", "<bos>"},
                            {"eos_token", "<eos>"},
                            {"pad_token", "<pad>"},
                            {"unk_token", "<unk>"}};
  options.local_seconds = 1772895849;  // 2026-03-07 15:04:09
  return options;
}

Result<std::string> render(std::string_view source, std::string_view request = kHello) {
  ZLLM_TRY(const ChatTemplate compiled, ChatTemplate::compile(source));
  return compiled.render(request, oracle_options());
}

std::string text_of(std::string_view source, std::string_view request = kHello) {
  const Result<std::string> text = render(source, request);
  return text.ok() ? *text : concat("error: ", text.error().message);
}

// What transformers made of every template and conversation: the text, or a failure. A message of
// raise_exception has to be the same too.
TEST(ChatTemplate, EqualsTransformersOnEveryFixture) {
  const std::string folder = "test/fixtures/template/";
  const Json expected = parse(concat(folder, "expected.json"));
  // Requests go in as text, because numbers must reach the template as they were written.
  std::ifstream requests(concat(folder, "requests.jsonl"), std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(requests, line);) {
    lines.push_back(line);
  }
  ASSERT_FALSE(lines.empty());
  ASSERT_NE(expected.as_object(), nullptr);
  ASSERT_FALSE(expected.as_object()->empty());
  for (const auto& [name, outcomes] : *expected.as_object()) {
    const auto compiled = ChatTemplate::compile(read(concat(folder, "sources/", name, ".jinja")));
    ASSERT_EQ(outcomes.as_array()->size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const Json& outcome = (*outcomes.as_array())[i];
      const Result<std::string> text = compiled.ok() ? compiled->render(lines[i], oracle_options())
                                                     : Result<std::string>(compiled.error());
      const Json *wanted = outcome.find("text");
      if (wanted != nullptr) {
        ASSERT_TRUE(text.ok()) << name << " line " << i << ": " << text.error().message;
        EXPECT_EQ(*text, *wanted->as_string()) << name << " line " << i;
        continue;
      }
      ASSERT_FALSE(text.ok()) << name << " line " << i << ": " << *text;
      if (*outcome.find("error")->as_string() == "TemplateError") {
        EXPECT_EQ(text.error().message, *outcome.find("message")->as_string());
      }
    }
  }
}

TEST(ChatTemplate, RaisesWithTheTemplatesOwnMessage) {
  const auto text = render("{{ raise_exception('Only user and assistant roles!') }}");
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, Code::invalid_argument);
  EXPECT_EQ(text.error().message, "Only user and assistant roles!");
}

TEST(ChatTemplate, NamesTheLineOfASyntaxError) {
  const auto compiled = ChatTemplate::compile("a\nb\n{% if x %}\n{% endfor %}");
  ASSERT_FALSE(compiled.ok());
  EXPECT_EQ(compiled.error().code, Code::invalid_file);
  EXPECT_NE(compiled.error().message.find("line 4"), std::string::npos) << compiled.error().message;
}

TEST(ChatTemplate, RefusesRequestsThatTransformersRefuses) {
  EXPECT_FALSE(render("x", R"({"messages": []})").ok());
  EXPECT_FALSE(render("x", R"({"messages": "Hi"})").ok());
  EXPECT_FALSE(render("x", R"({"messages": [1]})").ok());
  EXPECT_FALSE(render("x", R"({})").ok());
  EXPECT_FALSE(render("x", R"([])").ok());
  EXPECT_FALSE(render("x", "{").ok());
  EXPECT_FALSE(render("x", R"({"messages": [{}], "tools": {}})").ok());
  EXPECT_FALSE(render("x", R"({"messages": [{}], "documents": ["a"]})").ok());
  EXPECT_FALSE(render("x", R"({"messages": [{}], "chat_template_kwargs": {"tools": []}})").ok());
  EXPECT_TRUE(render("x", R"({"messages": [{}], "tools": null})").ok());
}

TEST(ChatTemplate, PassesNamesOn) {
  const std::string_view request =
      R"({"messages": [{}], "mode": "a", "bos_token": "B", "chat_template_kwargs": {"mode": "b"}})";
  EXPECT_EQ(text_of("{{ mode }}{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}", request),
            "bB<eos>True");
}

TEST(ChatTemplate, StopsHostileTemplates) {
  const std::string_view hostile[] = {
      "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
      "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
      "{{ 'a' * 99999999999 }}",
      "{{ 'a'.center(99999999999) }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ '{:99999999999}'.format(1) }}",
      "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}"
      "{% endfor %}",
      "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% endfor %}{{ ns.l }}",
      "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}"
      "{% endfor %}{{ ns.l|tojson }}",
      "{% set ns = namespace() %}{% set ns.me = ns %}{{ ns }}",
      "{{ 2 ** 999999999 }}",
      "{% for a in range(99999) %}{{ messages|tojson }}{{ 'x' * 10000 }}{% endfor %}",
      "{{ (messages|string * 100000)|replace('', 'y' * 10000) }}",
  };
  for (const std::string_view source : hostile) {
    EXPECT_FALSE(render(source).ok()) << source;
  }
}

TEST(ChatTemplate, StopsDeepSyntax) {
  const auto nested = [](std::string_view open, std::string_view middle, std::string_view close) {
    std::string source = "{{ ";
    for (int i = 0; i < 20000; ++i) {
      source += open;
    }
    source += middle;
    for (int i = 0; i < 20000; ++i) {
      source += close;
    }
    return source + " }}";
  };
  EXPECT_FALSE(ChatTemplate::compile(nested("(", "1", ")")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("[", "1", "]")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("not ", "1", "")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("-", "1", "")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("", "1", "+1")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("", "a", ".b")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("", "a", "|e")).ok());
  EXPECT_FALSE(ChatTemplate::compile(nested("1 if 1 else ", "1", "")).ok());
  std::string deep_json = R"({"messages": )";
  deep_json.append(100000, '[');
  EXPECT_FALSE(render("x", deep_json).ok());
}

TEST(ChatTemplate, TellsWhetherToolsAreRead) {
  EXPECT_TRUE(ChatTemplate::compile("{% if tools %}x{% endif %}")->mentions_tools());
  EXPECT_TRUE(ChatTemplate::compile("{% macro m() %}{{ tools }}{% endmacro %}")->mentions_tools());
  EXPECT_FALSE(ChatTemplate::compile("tools {{ messages.tools }}")->mentions_tools());
  EXPECT_TRUE(ChatTemplate::compile("{{ documents }}")->mentions_documents());
}

TEST(SpecialTokens, ComeFromStringsAndObjects) {
  const Json config = *Json::parse(
      R"({"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "pad_token": null,
          "extra_special_tokens": {"image_token": "<img>"}, "model_max_length": 8})",
      "config");
  const SpecialTokens wanted = {
      {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"image_token", "<img>"}};
  EXPECT_EQ(special_tokens_of(config), wanted);
}

std::string chosen(const Result<ChatTemplateSet>& set, bool tools) {
  if (!set.ok()) {
    return set.error().message;
  }
  const Result<ChatTemplate> choice = set->choose(tools);
  return choice.ok() ? *choice->render(kHello) : choice.error().message;
}

TEST(ChatTemplateSet, ChoosesAsTransformers) {
  const Json list = *Json::parse(
      R"({"chat_template": [{"name": "default", "template": "d"},
                            {"name": "tool_use", "template": "t"}]})",
      "config");
  EXPECT_EQ(chosen(ChatTemplateSet::from_folder(list, std::nullopt), false), "d");
  EXPECT_EQ(chosen(ChatTemplateSet::from_folder(list, std::nullopt), true), "t");
  EXPECT_EQ(chosen(ChatTemplateSet::from_folder(list, "file"), true), "file");
  const NamedTemplate additional[] = {{"tool_use", "more"}};
  EXPECT_EQ(chosen(ChatTemplateSet::from_folder(list, "file", additional), true), "more");
  EXPECT_EQ(chosen(ChatTemplateSet::from_folder(list, "file", additional), false), "file");
}

TEST(ChatTemplateSet, HasNoFallback) {
  const auto none = ChatTemplateSet::from_folder(*Json::parse("{}", "config"), std::nullopt);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(none->choose(false).error().code, Code::not_found);
  const Json rag =
      *Json::parse(R"({"chat_template": [{"name": "rag", "template": "r"}]})", "config");
  const auto named = ChatTemplateSet::from_folder(rag, std::nullopt);
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(named->choose(true).error().message,
            "the model has chat templates of the names 'rag' and none is default");
  EXPECT_FALSE(ChatTemplateSet::from_folder(*Json::parse(R"({"chat_template": 1})", "c"), {}).ok());
  EXPECT_FALSE(ChatTemplateSet::from_source("{% broken").ok());
}

TEST(ChatTemplateSet, ReadsGgufKeys) {
  const std::pair<std::string_view, std::string_view> entries[] = {
      {"tokenizer.chat_template", "d"},
      {"tokenizer.chat_template.tool_use", "t"},
      {"tokenizer.chat_templates", "{% not a template"}};
  EXPECT_EQ(chosen(ChatTemplateSet::from_gguf(entries), false), "d");
  EXPECT_EQ(chosen(ChatTemplateSet::from_gguf(entries), true), "t");
}

}  // namespace
}  // namespace zllm::text
