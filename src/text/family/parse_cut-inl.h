#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/text/family/family.h>

// For tests: an answer parsed whole and cut.
namespace zllm::text::family {

struct Call {
  std::string name;
  std::string arguments = {};
  std::string id = {};
  bool operator==(const Call&) const = default;
};

// What a parser gives for one answer, neighbours of one kind joined.
struct Parsed {
  std::string reasoning = {};
  std::string content = {};
  std::vector<Call> calls = {};
  std::string order = {};      // of parts: r, c and 0, 1, ... for calls
  bool is_well_formed = true;  // calls are numbered, begin once and end once
  bool operator==(const Parsed&) const = default;
};

inline void PrintTo(const Parsed& parsed, std::ostream *out) {
  *out << "\nreasoning [" << parsed.reasoning << "]\ncontent [" << parsed.content << "]\n";
  for (const Call& call : parsed.calls) {
    *out << "call " << call.name << " (" << call.id << ") [" << call.arguments << "]\n";
  }
  *out << "order " << parsed.order << (parsed.is_well_formed ? "\n" : ", not well formed\n");
}

struct Fragment {
  std::string text;
  bool is_special = false;
};

class Collector {
 public:
  void take(const std::vector<Piece>& pieces) {
    for (const Piece& piece : pieces) {
      std::visit([this](const auto& kind) { add(kind); }, piece);
    }
  }
  Parsed result() {
    parsed_.is_well_formed = parsed_.is_well_formed && !is_open_;
    return parsed_;
  }

 private:
  void mark(char kind) {
    if (parsed_.order.empty() || parsed_.order.back() != kind) {
      parsed_.order += kind;
    }
  }
  void add(const Content& piece) {
    expect(!is_open_ && !piece.text.empty());
    parsed_.content += piece.text;
    mark('c');
  }
  void add(const Reasoning& piece) {
    expect(!is_open_ && (piece.ends || !piece.text.empty()));
    parsed_.reasoning += piece.text;
    if (!piece.text.empty()) {
      mark('r');
    }
  }
  void add(const CallBegin& piece) {
    expect(!is_open_ && piece.call == parsed_.calls.size() && !piece.name.empty());
    is_open_ = true;
    mark(static_cast<char>('0' + parsed_.calls.size() % 10));
    parsed_.calls.push_back({.name = piece.name, .id = piece.id});
  }
  void add(const CallArguments& piece) {
    expect(is_open_ && piece.call + 1 == parsed_.calls.size() && !piece.json.empty());
    parsed_.calls.back().arguments += piece.json;
  }
  void add(const CallEnd& piece) {
    expect(is_open_ && piece.call + 1 == parsed_.calls.size());
    is_open_ = false;
  }
  void expect(bool holds) { parsed_.is_well_formed = parsed_.is_well_formed && holds; }

  Parsed parsed_;
  bool is_open_ = false;
};

inline Parsed parse(const Family& family, const ParserOptions& options,
                    const std::vector<Fragment>& fragments, Ending ending = Ending::complete) {
  const std::unique_ptr<OutputParser> parser = family.parser(options);
  Collector collector;
  for (const Fragment& fragment : fragments) {
    std::vector<Piece> pieces;
    parser->add(fragment.text, fragment.is_special, pieces);
    collector.take(pieces);
  }
  std::vector<Piece> pieces;
  parser->finish(pieces, ending);
  collector.take(pieces);
  return collector.result();
}

// Borders of characters: 0 and the end too.
inline std::vector<std::size_t> borders(std::string_view text) {
  std::vector<std::size_t> found = {0};
  for (std::size_t at = 0; at < text.size();) {
    at += utf8_sequence_length(text.substr(at));
    found.push_back(at);
  }
  return found;
}

// The text whole; fails the test that runs where any two pieces, single characters or random
// pieces give something else.
inline Parsed parse_cut(const Family& family, const ParserOptions& options, std::string_view text,
                        Ending ending = Ending::complete) {
  const auto piece = [&](std::size_t begin, std::size_t end) {
    return Fragment{.text = std::string(text.substr(begin, end - begin))};
  };
  Parsed whole = parse(family, options, {piece(0, text.size())}, ending);
  EXPECT_TRUE(whole.is_well_formed) << text;
  const std::vector<std::size_t> cuts = borders(text);
  std::vector<Fragment> single;
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    EXPECT_EQ(parse(family, options, {piece(0, cuts[i]), piece(cuts[i], text.size())}, ending),
              whole)
        << "cut at " << cuts[i];
    single.push_back(piece(cuts[i - 1], cuts[i]));
  }
  EXPECT_EQ(parse(family, options, single, ending), whole) << "one character at a time";
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<Fragment> fragments;
    for (std::size_t i = 0; i + 1 < cuts.size();) {
      const std::size_t next = std::min<std::size_t>(i + 1 + random() % 9, cuts.size() - 1);
      fragments.push_back(piece(cuts[i], cuts[next]));
      i = next;
    }
    EXPECT_EQ(parse(family, options, fragments, ending), whole) << "random cuts " << round;
  }
  return whole;
}

// Every beginning of the text is an answer that was cut off: each is parsed the same however cut
// into characters, and nothing that was given is taken back by more text.
inline void check_prefixes(const Family& family, const ParserOptions& options,
                           std::string_view text) {
  const Parsed whole = parse(family, options, {{.text = std::string(text)}});
  for (const std::size_t size : borders(text)) {
    const std::string_view prefix = text.substr(0, size);
    std::vector<Fragment> single;
    const std::vector<std::size_t> cuts = borders(prefix);
    for (std::size_t i = 1; i < cuts.size(); ++i) {
      single.push_back({.text = std::string(prefix.substr(cuts[i - 1], cuts[i] - cuts[i - 1]))});
    }
    const Parsed cut = parse(family, options, single, Ending::cut);
    EXPECT_EQ(cut, parse(family, options, {{.text = std::string(prefix)}}, Ending::cut)) << prefix;
    EXPECT_TRUE(cut.is_well_formed) << prefix;
    for (std::size_t i = 0; i < cut.calls.size(); ++i) {
      ASSERT_LT(i, whole.calls.size()) << prefix;
      EXPECT_EQ(cut.calls[i].name, whole.calls[i].name) << prefix;
    }
  }
}

// weather(city: string, days: integer, alerts: boolean, where: object, ratio: number or null) and
// write-file(path: string, text: string).
inline const std::vector<Tool>& sample_tools() {
  static const std::vector<Tool> tools = {
      {.name = "weather", .parameters = R"({"type":"object","properties":{
         "city":{"type":"string"},"days":{"type":"integer"},"alerts":{"type":"boolean"},
         "where":{"type":"object"},"ratio":{"type":["number","null"]}}})"},
      {.name = "write-file", .parameters = R"({"type":"object","properties":{
         "path":{"type":"string"},"text":{"type":"string"}}})"}};
  return tools;
}

inline ParserOptions with_tools() { return {.tools = sample_tools()}; }

// One text in all ways, with the sample tools: whole, cut, and every beginning of it.
inline Parsed parse_all_ways(const Family& family, std::string_view text,
                             ParserOptions options = with_tools()) {
  check_prefixes(family, options, text);
  Parsed parsed = parse_cut(family, options, text);
  for (const Call& call : parsed.calls) {
    const Result<Json> arguments = Json::parse(call.arguments, "arguments");
    EXPECT_TRUE(arguments.ok() && arguments->as_object() != nullptr) << call.arguments;
  }
  return parsed;
}

}  // namespace zllm::text::family
