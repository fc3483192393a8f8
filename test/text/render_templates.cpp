#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/text/chat_template.h>

// For compare_templates.py. A line of input is the path of a template, a tab and a request; a line
// of output is {"text": ...} or {"code": ..., "message": ...}.
namespace zllm::text {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string member(std::string_view name, std::string_view text) {
  std::string json;
  append_json_string(json, name);
  json += ':';
  append_json_string(json, text);
  return json;
}

// The names and the clock of tools/oracle/template_vectors.py.
RenderOptions oracle_options() {
  RenderOptions options;
  options.special_tokens = {{"bos_token", "<bos>"},
                            {"eos_token", "<eos>"},
                            {"pad_token", "<pad>"},
                            {"unk_token", "<unk>"}};
  options.local_seconds = 1772895849;
  return options;
}

std::string answer(const std::string& path, std::string_view request) {
  const Result<ChatTemplate> compiled = ChatTemplate::compile(read(path));
  const Result<std::string> text = compiled.ok() ? compiled->render(request, oracle_options())
                                                 : Result<std::string>(compiled.error());
  if (text.ok()) {
    return concat("{", member("text", *text), "}");
  }
  const Error& error = text.error();
  return concat("{", member("code", name(error.code)), ",", member("message", error.message), "}");
}

}  // namespace
}  // namespace zllm::text

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) {
      std::cerr << "a line without a tab\n";
      return 1;
    }
    const std::string path = line.substr(0, tab);
    std::cout << zllm::text::answer(path, std::string_view(line).substr(tab + 1)) << '\n';
  }
}
