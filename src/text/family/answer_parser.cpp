#include <zllm/text/family/answer_parser.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace zllm::text::family {
namespace {

constexpr std::size_t kBegin = 0;  // of the reasoning markers

}  // namespace

AnswerParser::AnswerParser(const AnswerSyntax& syntax, std::shared_ptr<const ToolTable> tools,
                           bool allows_calls)
    : syntax_(syntax),
      tools_(std::move(tools)),
      allows_calls_(allows_calls && syntax.calls != nullptr),
      answer_(read_answer()) {
  if (!syntax.reasoning_end.empty()) {
    reasoning_markers_ = {syntax.reasoning_begin, syntax.reasoning_end};
  }
}

AnswerParser::AnswerParser(const AnswerSyntax& syntax, const ParserOptions& options)
    : AnswerParser(syntax, std::make_shared<const ToolTable>(options.tools), options.allows_calls) {
  separates_reasoning_ = options.separates_reasoning;
  is_unanswered_ = options.is_reasoning_open && !reasoning_markers_.empty();
}

void AnswerParser::add(std::string_view text, bool is_special, std::vector<Piece>& out) {
  writer_.write_to(out);
  if (!is_started_) {
    is_started_ = true;
    answer_.start();
  }
  if (!is_special || is_known(text)) {
    input_.append(text);
  }
}

void AnswerParser::finish(std::vector<Piece>& out, Ending ending) {
  add("", false, out);
  if (input_.ended()) {
    return;
  }
  input_.end(ending);
  if (is_unanswered_ && separates_reasoning_ && ending == Ending::complete) {
    AnswerParser again(syntax_, tools_, allows_calls_);
    again.add(unanswered_, false, out);
    again.finish(out, ending);
  }
}

bool AnswerParser::is_known(std::string_view spelling) const {
  const auto has = [&](Markers markers) {
    return std::find(markers.begin(), markers.end(), spelling) != markers.end();
  };
  return has(reasoning_markers_) || (syntax_.calls != nullptr &&
                                     (has(syntax_.calls->begins()) || has(syntax_.calls->inner())));
}

Task<Done> AnswerParser::read_answer() {
  Before before = Before::start;
  if (is_unanswered_) {
    co_await read_reasoning();
    before = Before::reasoning;
  }
  for (;;) {
    const bool is_content = !co_await read_between(&before);
    if (is_content) {
      const bool has_called = co_await read_content();
      if (!has_called) {
        co_return Done{};
      }
      before = Before::call;
    }
  }
}

Task<bool> AnswerParser::read_between(Before *before) {
  input_.forget();
  const std::size_t begin = input_.position();
  std::size_t content = begin;
  if (*before == Before::reasoning && separates_reasoning_) {
    bool is_newline = true;
    while (is_newline) {
      is_newline = co_await take_marker(&input_, "\n");
    }
    content = input_.position();
  }
  const char solid = co_await next_solid(&input_);
  const std::size_t behind_space = input_.position();
  if (*before == Before::call) {
    content = behind_space;
  }
  const std::optional<std::size_t> marker = co_await next_marker(&input_, reasoning_markers_);
  // An end without a beginning, at the start, closes reasoning that is empty.
  if (marker && (*marker == kBegin || *before == Before::start)) {
    input_.skip(reasoning_markers_[*marker].size());
    if (!separates_reasoning_) {
      const std::size_t end = input_.position();
      input_.rewind(content);
      writer_.content(input_.rest().substr(0, end - content));
      input_.skip(end - content);
    }
    if (*marker == kBegin) {
      co_await read_reasoning();
    }
    *before = Before::reasoning;
    co_return true;
  }
  if (allows_calls_ && syntax_.calls->has_bare_calls() && *before != Before::call &&
      (solid == '{' || solid == '[')) {
    const bool has_called = co_await syntax_.calls->read_bare(context());
    if (has_called) {
      *before = Before::call;
      co_return true;
    }
  }
  input_.rewind(content);
  co_return false;
}

Task<Done> AnswerParser::read_reasoning() {
  const std::string_view end = syntax_.reasoning_end;
  if (separates_reasoning_) {
    bool is_newline = true;
    while (is_newline) {
      is_newline = co_await take_marker(&input_, "\n");
    }
    if (is_unanswered_) {  // models may open again what the prompt has opened
      const bool is_again = co_await take_marker(&input_, syntax_.reasoning_begin);
      is_newline = is_again;
      while (is_newline) {
        is_newline = co_await take_marker(&input_, "\n");
      }
    }
  }
  const Sink sink = [this](std::string_view text) {
    if (is_unanswered_) {
      unanswered_ += text;
    }
    if (separates_reasoning_) {
      writer_.reasoning(text);
    } else {
      writer_.content(text);
    }
  };
  const Copied copied = co_await copy_until(
      &input_, Markers(&end, 1), separates_reasoning_ ? newlines_margin : no_margin, &sink);
  if (copied.marker) {
    is_unanswered_ = false;
    unanswered_.clear();
    input_.skip(copied.margin + end.size());
    if (separates_reasoning_) {
      writer_.end_reasoning();
    } else {
      writer_.content(end);
    }
  }
  co_return Done{};
}

Task<bool> AnswerParser::read_content() {
  const Markers begins = allows_calls_ ? syntax_.calls->begins() : Markers();
  const Margin margin = begins.empty() ? no_margin : space_margin;
  const Sink sink = [this](std::string_view text) { writer_.content(text); };
  for (;;) {
    input_.forget();
    const Copied copied = co_await copy_until(&input_, begins, margin, &sink);
    if (!copied.marker) {
      co_return false;
    }
    const std::size_t begin = input_.position();
    const std::size_t opened = copied.margin + begins[*copied.marker].size();
    input_.skip(opened);
    const bool has_called = co_await syntax_.calls->read(context(), *copied.marker);
    if (has_called) {
      co_return true;
    }
    input_.rewind(begin);
    writer_.content(input_.rest().substr(0, opened));
    input_.skip(opened);
  }
}

}  // namespace zllm::text::family
