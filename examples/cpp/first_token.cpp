// The first token of an answer: first_token MODEL PROMPT
#include <cstdio>

#include <zllm/embedded/engine.h>

int main(int argc, char **argv) {
  const auto engine = zllm::Engine::load({.model = argc > 1 ? argv[1] : ""});
  if (!engine.ok()) {
    return std::fprintf(stderr, "%s\n", engine.error().message.c_str()), 1;
  }
  const zllm::Message question{.content = argc > 2 ? argv[2] : "Say hello."};
  auto answer = (*engine)->submit({.input = zllm::Conversation{.messages = {question}}});
  while (const auto event = answer.ok() ? (*answer)->next() : std::nullopt) {
    if (const auto *content = std::get_if<zllm::ContentDelta>(&event->what)) {
      return std::printf("%s\n", content->text.c_str()) < 0;
    }
  }
  return 1;
}
