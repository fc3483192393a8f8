#include "option_table.h"

#include <algorithm>
#include <utility>

namespace zllm::cli {

Option& OptionTable::add(Option option) {
  ZLLM_CHECK(find(option.name) == nullptr, "an option is listed twice");
  return options_.emplace_back(std::move(option));
}

Option& OptionTable::text(std::string name, std::string value, std::string help,
                          std::string& target) {
  Option option{.name = std::move(name), .value = std::move(value), .help = std::move(help)};
  option.set = [&target](std::string_view given) -> Status {
    target = given;
    return {};
  };
  option.show = [&target]() -> std::vector<std::string> {
    return target.empty() ? std::vector<std::string>{} : std::vector<std::string>{target};
  };
  return add(std::move(option));
}

Option& OptionTable::positional(std::string name, std::string help, std::string& target) {
  Option& option = text(std::move(name), "", std::move(help), target);
  option.is_positional = true;
  return option;
}

Option& OptionTable::choice(std::string name, std::vector<std::string> allowed, std::string help,
                            std::string& target) {
  std::string joined;
  for (const std::string& one : allowed) {
    joined += concat(joined.empty() ? "" : "|", one);
  }
  Option& option = text(std::move(name), joined, std::move(help), target);
  option.set = [&target, allowed = std::move(allowed), joined](std::string_view given) -> Status {
    if (std::ranges::find(allowed, given) == allowed.end()) {
      return Error{Code::invalid_argument, concat(quote(given), " is not one of ", joined)};
    }
    target = given;
    return {};
  };
  return option;
}

Option& OptionTable::toggle(std::string name, std::string help, bool& target) {
  Option option{
      .name = std::move(name), .value = "", .help = std::move(help), .kind = OptionKind::toggle};
  option.set = [&target](std::string_view given) -> Status {
    if (given != "true" && given != "false") {
      return Error{Code::invalid_argument, concat(quote(given), " is neither true nor false")};
    }
    target = given == "true";
    return {};
  };
  option.show = [&target]() -> std::vector<std::string> { return {to_text(target)}; };
  return add(std::move(option));
}

Option& OptionTable::list(std::string name, std::string value, std::string help,
                          std::vector<std::string>& target) {
  Option option{
      .name = std::move(name), .value = std::move(value), .help = std::move(help), .is_list = true};
  option.set = [&target](std::string_view given) -> Status {
    target.emplace_back(given);
    return {};
  };
  option.clear = [&target] { target.clear(); };
  option.show = [&target] { return target; };
  return add(std::move(option));
}

const Option *OptionTable::find(std::string_view name) const {
  const auto found = std::ranges::find(options_, name, &Option::name);
  return found == options_.end() ? nullptr : &*found;
}

std::vector<std::string_view> OptionTable::names() const {
  std::vector<std::string_view> names;
  names.reserve(options_.size());
  for (const Option& option : options_) {
    names.push_back(option.name);
  }
  return names;
}

}  // namespace zllm::cli
