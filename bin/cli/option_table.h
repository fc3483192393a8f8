#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/text.h>

namespace zllm::cli {

enum class OptionKind { text, number, toggle };

// One option of a command: --name on the command line, name in a YAML file.
struct Option {
  std::string name;        // "max-tokens"
  std::string value = {};  // what stands for the value in the help: "N"; empty for a toggle
  std::string help = {};
  OptionKind kind = OptionKind::text;
  bool is_list = false;
  bool is_positional = false;
  bool in_config = true;
  // Takes one value as text, a list appends it. The error says what is wrong, not where.
  std::function<Status(std::string_view)> set = {};
  std::function<void()> clear = {};                     // of a list
  std::function<std::vector<std::string>()> show = {};  // as `set` takes them; empty when not set
};

template <class T>
struct Range {
  T least = std::numeric_limits<T>::lowest();
  T most = std::numeric_limits<T>::max();
};

// The options of a command. One table serves the command line, YAML files and the help, so that
// they cannot differ. Targets must outlive the table; their value is the default.
class OptionTable {
 public:
  Option& text(std::string name, std::string value, std::string help, std::string& target);
  // The text of the only argument that needs no option.
  Option& positional(std::string name, std::string help, std::string& target);
  Option& choice(std::string name, std::vector<std::string> allowed, std::string help,
                 std::string& target);
  Option& toggle(std::string name, std::string help, bool& target);
  Option& list(std::string name, std::string value, std::string help,
               std::vector<std::string>& target);
  // Target: a number or an optional one.
  template <class Target, class T>
  Option& number(std::string name, std::string help, Target& target, Range<T> range);

  const std::vector<Option>& options() const { return options_; }
  const Option *find(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  Option& add(Option option);
  std::vector<Option> options_;
};

// The least number above 0, for ranges that leave 0 out.
constexpr double kAboveZero = std::numeric_limits<double>::denorm_min();

// "is not a number from 0 to 1" and the like.
template <class T>
Error out_of_range(std::string_view text, const Range<T>& range) {
  const std::string_view what = std::integral<T> ? "an integer" : "a number";
  std::string bounds = concat("from ", range.least, " to ", range.most);
  // The end of a small type is a limit of the option.
  if (sizeof(T) == sizeof(std::uint64_t) && range.most == std::numeric_limits<T>::max()) {
    bounds = concat("of at least ", range.least);
  } else if (!std::integral<T> && static_cast<double>(range.least) == kAboveZero) {
    bounds = concat("above 0 and at most ", range.most);
  }
  return Error{Code::invalid_argument, concat(quote(text), " is not ", what, " ", bounds)};
}

template <class Target, class T>
Option& OptionTable::number(std::string name, std::string help, Target& target, Range<T> range) {
  Option option{.name = std::move(name),
                .value = std::integral<T> ? "N" : "X",
                .help = std::move(help),
                .kind = OptionKind::number};
  option.set = [&target, range](std::string_view text) -> Status {
    T parsed{};
    // The comparison is written so that NaN fails it.
    if (!parse_number(text, parsed) || !(parsed >= range.least && parsed <= range.most)) {
      return out_of_range(text, range);
    }
    target = parsed;
    return {};
  };
  option.show = [&target]() -> std::vector<std::string> {
    if constexpr (requires { target.has_value(); }) {
      return target ? std::vector<std::string>{to_text(*target)} : std::vector<std::string>{};
    } else {
      return {to_text(target)};
    }
  };
  return add(std::move(option));
}

}  // namespace zllm::cli
