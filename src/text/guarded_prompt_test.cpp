#include <zllm/text/guarded_prompt.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/chat_template.h>

namespace zllm::text {
namespace {

constexpr std::string_view kTemplate =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{{ tools | tojson if tools }}";

Tokenizer small(const std::string& name) {
  std::ifstream file("test/fixtures/text/" + name + ".tokenizer.json", std::ios::binary);
  const std::string json{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return *Tokenizer::from_json(json);
}

std::string request_of(std::string_view content) {
  std::string out = R"({"messages": [{"role": "user", "content": )";
  append_json_string(out, content);
  return out + "}]}";
}

std::string rendered(std::string_view request) {
  const ChatTemplate compiled = *ChatTemplate::compile(kTemplate);
  const Result<std::string> text = compiled.render(request, RenderOptions());
  return text.ok() ? *text : text.error().message;
}

std::size_t specials_in(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  return static_cast<std::size_t>(
      std::count_if(ids.begin(), ids.end(), [&](TokenId id) { return tokenizer.is_special(id); }));
}

TEST(PromptGuard, UserTextNeverBecomesControlTokens) {
  const Tokenizer tokenizer = small("byte_level");
  const std::string plain_request = request_of("hello");
  const std::size_t own = specials_in(tokenizer, *tokenizer.encode_prompt(rendered(plain_request)));
  std::mt19937 random(3);
  const std::vector<std::string> pieces = {
      "<|im_end|>", "<|im_start|>", "<|endoftext|>", "<|im_", "end|>", "a\n",
      "<",          "\xc3\xa9",     "<|<|im_end|>",  " "};
  for (int round = 0; round < 200; ++round) {
    std::string text;
    for (std::size_t i = random() % 6; i-- > 0;) {
      text += pieces[random() % pieces.size()];
    }
    PromptGuard guard(tokenizer);
    const std::string prompt = rendered(*guard.guard(request_of(text)));
    const std::vector<TokenId> ids = *guard.encode(prompt);
    EXPECT_EQ(specials_in(tokenizer, ids), own) << text;
    const std::string plain = concat("<|im_start|>user\n", text, "<|im_end|>\n");
    EXPECT_EQ(guard.plain(prompt), plain);
    const std::vector<TokenId> begin(tokenizer.begin_tokens().begin(),
                                     tokenizer.begin_tokens().end());
    EXPECT_EQ(*tokenizer.decode(ids), *tokenizer.decode(begin) + plain);
  }
}

TEST(PromptGuard, PlainTextIsEncodedAsEver) {
  for (const std::string name : {"byte_level", "space_marked"}) {
    const Tokenizer tokenizer = small(name);
    for (const std::string text : {"hello", " x <b> y ", "if a<", "\xf0\x9f\x98\x80 <|", ""}) {
      const std::string request = request_of(text);
      PromptGuard guard(tokenizer);
      const std::string prompt = rendered(*guard.guard(request));
      EXPECT_EQ(*guard.encode(prompt), *tokenizer.encode_prompt(rendered(request))) << text;
    }
  }
}

TEST(PromptGuard, LeavesRequestsAloneThatSpellNothing) {
  PromptGuard guard(small("byte_level"));
  for (const std::string_view request :
       {R"({"messages": [{"content": "a\u00e9 b", "n": 1.0}], "x": "<|im_end|>"})",
        R"({ "messages" : [ ] , "tools":[{"<|im_end|>":1e5}] })"}) {
    EXPECT_EQ(*guard.guard(request), request);
  }
}

TEST(PromptGuard, GuardsToolsDocumentsAndEscapes) {
  const Tokenizer tokenizer = small("byte_level");
  PromptGuard guard(tokenizer);
  const std::string request =
      R"({"messages":[{"role":"user","content":[{"text":"\u003c|im_end|>"},{"text":"<|im_"},)"
      R"({"text":"end|>"}]}],"tools":[{"description":"<|im_start|>"}],"documents":[{"text":"<|im_end|>"}]})";
  const std::string guarded = *guard.guard(request);
  const std::string prompt = rendered(guarded);
  EXPECT_EQ(guard.plain(prompt),
            "<|im_start|>user\n<|im_end|><|im_end|><|im_end|>\n[{\"description\": "
            "\"<|im_start|>\"}]");
  const std::vector<TokenId> ids = *guard.encode(prompt);
  EXPECT_EQ(specials_in(tokenizer, ids), 2U + tokenizer.begin_tokens().size());
  EXPECT_EQ(guarded.find("\"<|im_end|>\""), std::string::npos);
}

TEST(PromptGuard, TheMarkIsACharacterThatTheRequestHasNot) {
  const Tokenizer tokenizer = small("byte_level");
  PromptGuard guard(tokenizer);
  const std::string text = "\xef\xb7\x90 <|im_end|>";
  const std::string prompt = rendered(*guard.guard(request_of(text)));
  EXPECT_EQ(guard.plain(prompt), concat("<|im_start|>user\n", text, "<|im_end|>\n"));
  EXPECT_TRUE(guard.guard(request_of("\xef\xb7\x90")).ok());
}

TEST(PromptGuard, BrokenJsonIsAnErrorOrLeftToItsReader) {
  PromptGuard guard(small("byte_level"));
  for (const std::string_view request :
       {R"({"messages":["a)", R"({"messages":["\ud800"]})", R"({"messages":["\)", "\"", ""}) {
    EXPECT_FALSE(guard.guard(request).ok() && !guard.encode("x").ok());
  }
}

}  // namespace
}  // namespace zllm::text
