#include <zllm/text/family/harmony_parser.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <zllm/text/family/call_name.h>
#include <zllm/text/family/json_calls.h>

namespace zllm::text::family {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::string_view kTo = "to=";

constexpr std::array<std::string_view, 7> kTokens = {"<|end|>", "<|call|>", "<|return|>", kStart,
                                                     kChannel,  kMessage,   kConstrain};
constexpr std::size_t kEnds = 3;        // the first ones end a message
constexpr std::size_t kBoundaries = 5;  // and the first ones stand between messages

// What ends a header: the opening brace too, for headers without <|message|>.
constexpr std::array<std::string_view, 5> kHeaderEnds = {kMessage, "{", "<|end|>", "<|call|>",
                                                         "<|return|>"};
constexpr std::size_t kHeaderMessage = 0;
constexpr std::size_t kHeaderBrace = 1;

// The word behind the key and white space, up to white space or a token; nothing without the key.
std::optional<std::string_view> word_behind(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  constexpr std::string_view kSpace = " \t\r\n";
  std::string_view rest = header.substr(at + key.size());
  rest = rest.substr(std::min(rest.find_first_not_of(kSpace), rest.size()));
  return rest.substr(0, std::min(rest.find_first_of(kSpace), rest.find('<')));
}

}  // namespace

HarmonyParser::HarmonyParser(const ParserOptions& options)
    : tools_(options.tools),
      allows_calls_(options.allows_calls),
      separates_reasoning_(options.separates_reasoning),
      is_reasoning_open_(options.is_reasoning_open),
      answer_(read_answer()) {}

void HarmonyParser::add(std::string_view text, bool is_special, std::vector<Piece>& out) {
  writer_.write_to(out);
  if (!is_started_) {
    is_started_ = true;
    answer_.start();
  }
  if (!is_special || std::find(kTokens.begin(), kTokens.end(), text) != kTokens.end()) {
    input_.append(text);
  }
}

void HarmonyParser::finish(std::vector<Piece>& out, Ending ending) {
  add("", false, out);
  if (input_.ended()) {
    return;
  }
  input_.end(ending);
  if (is_unanswered_ && separates_reasoning_ && ending == Ending::complete) {
    writer_.content(unanswered_);
  }
}

void HarmonyParser::write(Kind kind, std::string_view text) {
  if (kind == Kind::reasoning && separates_reasoning_) {
    writer_.reasoning(text);
  } else {
    writer_.content(text);
  }
  if (is_unanswered_) {
    unanswered_ += text;
  }
}

Task<Done> HarmonyParser::read_answer() {
  if (is_reasoning_open_) {
    is_unanswered_ = true;
    Message opened = {.kind = Kind::reasoning};
    co_await read_body(std::move(opened));
  }
  while (!input_.ended() || !input_.rest().empty()) {
    input_.forget();
    const std::size_t begin = input_.position();
    Message message = co_await read_message_header();
    if (message.kind == Kind::reasoning && !separates_reasoning_) {
      const std::size_t size = input_.position() - begin;
      input_.rewind(begin);
      writer_.content(input_.rest().substr(0, size));
      input_.skip(size);
    }
    if (message.kind == Kind::call && !allows_calls_) {
      message.kind = Kind::content;
    }
    co_await read_body(std::move(message));
  }
  co_return Done{};
}

HarmonyParser::Message HarmonyParser::message_of(std::string_view header) const {
  constexpr std::string_view kFunctions = "functions.";
  std::string_view recipient = word_behind(header, kTo).value_or("");
  const bool is_function = recipient.starts_with(kFunctions);
  if (is_function) {
    recipient.remove_prefix(kFunctions.size());
  }
  if ((is_function || tools_.has(recipient)) && is_call_name(recipient)) {
    return {.kind = Kind::call, .name = std::string(recipient)};
  }
  const bool is_reasoning = word_behind(header, kChannel) == "analysis";
  return {.kind = is_reasoning ? Kind::reasoning : Kind::content};
}

Task<HarmonyParser::Message> HarmonyParser::read_message_header() {
  // The prompt ends with the role of the first message, behind which a recipient may stand.
  constexpr std::array<std::string_view, 4> kBegins = {kStart, kChannel, kMessage, " to="};
  const std::size_t begin = input_.position();
  const std::optional<std::size_t> first = co_await next_marker(&input_, kBegins);
  if (!first || (begin != 0 && kBegins[*first] == " to=")) {
    co_return Message{};
  }
  const std::optional<std::string> header = co_await read_header(&input_, kHeaderEnds);
  const std::optional<std::size_t> end =
      header ? co_await next_marker(&input_, kHeaderEnds) : std::nullopt;
  if (end == kHeaderMessage) {
    input_.skip(kMessage.size());
    co_return message_of(*header);
  }
  if (end == kHeaderBrace) {
    Message message = message_of(*header);
    if (message.kind == Kind::call) {
      co_return message;
    }
  }
  // Without <|message|> the text begins behind the channel, or behind the role.
  input_.rewind(begin);
  const std::string front = header.value_or(std::string(input_.rest().substr(0, kMaxHeaderBytes)));
  const std::string_view key = front.find(kChannel) != std::string::npos ? kChannel : kStart;
  const std::optional<std::string_view> word = word_behind(front, key);
  if (!word) {
    co_return Message{};
  }
  const std::size_t behind_key = front.find(key) + key.size();
  const auto behind_word = static_cast<std::size_t>(word->data() + word->size() - front.data());
  const bool is_word = header || behind_word < front.size();
  const std::size_t size = is_word ? behind_word : behind_key;
  input_.skip(size);
  co_return message_of(std::string_view(front).substr(0, size));
}

Task<Done> HarmonyParser::read_body(Message message) {
  const Markers ends = Markers(kTokens).first(kEnds);
  if (message.kind == Kind::call) {
    const char first = co_await next_solid(&input_);
    const std::optional<std::size_t> end = co_await next_marker(&input_, ends);
    if (first == '{' || end) {
      writer_.begin_call(std::move(message.name));
      if (end) {
        writer_.arguments("{}");
        writer_.end_call();
      } else {
        const CallContext context = {.input = &input_, .out = &writer_, .tools = &tools_};
        co_await read_arguments(context);
      }
      co_await next_solid(&input_);
    }
    message.kind = Kind::content;
  }
  co_await read_text(message.kind);
  co_return Done{};
}

Task<Done> HarmonyParser::read_text(Kind kind) {
  const Sink sink = [this, kind](std::string_view text) { write(kind, text); };
  for (;;) {
    const Copied copied = co_await copy_until(&input_, kTokens, no_margin, &sink);
    if (!copied.marker) {
      co_return Done{};
    }
    const bool keeps = kind == Kind::reasoning && !separates_reasoning_;
    if (*copied.marker < kBoundaries) {
      is_unanswered_ = false;
      if (kind == Kind::reasoning && separates_reasoning_) {
        writer_.end_reasoning();
      }
      if (*copied.marker < kEnds) {
        if (keeps) {
          writer_.content(kTokens[*copied.marker]);
        }
        input_.skip(kTokens[*copied.marker].size());
      }
      co_return Done{};
    }
    input_.skip(kTokens[*copied.marker].size());  // a token that means nothing here
  }
}

}  // namespace zllm::text::family
