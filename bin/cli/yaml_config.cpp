#include "yaml_config.h"

#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include <zllm/base/mapped_file.h>
#include <zllm/base/text.h>

namespace zllm::cli {
namespace {

constexpr std::size_t kConfigFileLimit = std::size_t{1} << 20;  // far more than any hand writes

std::string place(const std::string& path, const YAML::Node& node) {
  const YAML::Mark mark = node.Mark();
  return mark.is_null() ? path : concat(path, ":", mark.line + 1);
}

Result<YAML::Node> parse(const std::string& path) {
  ZLLM_TRY(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > kConfigFileLimit) {
    return Error{Code::invalid_argument, concat(path, ": is larger than 1 MiB")};
  }
  const std::string text(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  ZLLM_TRY(file.check());
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return Error{Code::invalid_argument,
                   concat(place(path, documents[1]), ": begins a second document")};
    }
    return documents.empty() ? YAML::Node() : documents.front();
  } catch (const YAML::Exception& error) {
    return Error{Code::invalid_argument,
                 concat(path, ":", error.mark.line + 1, ": not YAML: ", error.msg)};
  }
}

Status set_scalar(const Option& option, const YAML::Node& node) {
  if (!node.IsScalar()) {
    return Error{Code::invalid_argument, node.IsNull() ? "has no value" : "must be one value"};
  }
  // The tag "!" is that of a quoted scalar, which is text whatever it looks like.
  if (option.kind != OptionKind::text && node.Tag() == "!") {
    return Error{
        Code::invalid_argument,
        concat(option.kind == OptionKind::number ? "must be a number" : "must be a boolean",
               ", not text in quotes")};
  }
  return option.set(node.Scalar());
}

Status set(const Option& option, const YAML::Node& node) {
  if (!option.is_list) {
    return set_scalar(option, node);
  }
  if (!node.IsSequence()) {
    return Error{Code::invalid_argument, "must be a list"};
  }
  option.clear();
  for (const YAML::Node& item : node) {
    ZLLM_TRY(set_scalar(option, item));
  }
  return {};
}

Status set_by_key(const std::string& path, const OptionTable& options, const YAML::Node& key,
                  const YAML::Node& value, std::set<std::string>& seen) {
  if (!key.IsScalar()) {
    return Error{Code::invalid_argument, concat(place(path, key), ": a key must be a name")};
  }
  const std::string& name = key.Scalar();
  const Option *option = options.find(name);
  if (option == nullptr || !option->in_config) {
    const std::string_view near = nearest(name, options.names());
    return Error{Code::invalid_argument,
                 concat(place(path, key), ": unknown key ", quote(name),
                        near.empty() ? "" : concat("; did you mean ", quote(near), "?"))};
  }
  if (!seen.insert(name).second) {
    return Error{Code::invalid_argument, concat(place(path, key), ": ", name, " is set twice")};
  }
  Status status = set(*option, value);
  return status.ok()
             ? std::move(status)
             : Status(std::move(status).error().within(concat(place(path, key), ": ", name)));
}

}  // namespace

Status apply_yaml(const std::string& path, const OptionTable& options) {
  ZLLM_TRY(const YAML::Node root, parse(path));
  if (root.IsNull()) {
    return {};
  }
  if (!root.IsMap()) {
    return Error{Code::invalid_argument, concat(path, ": must be a map of options to values")};
  }
  std::set<std::string> seen;
  for (const auto& entry : root) {
    ZLLM_TRY(set_by_key(path, options, entry.first, entry.second, seen));
  }
  return {};
}

std::string effective_yaml(const OptionTable& options) {
  YAML::Emitter yaml;
  yaml << YAML::BeginMap;
  for (const Option& option : options.options()) {
    const std::vector<std::string> values = option.show();
    if (!option.in_config || (values.empty() && !option.is_list)) {
      continue;
    }
    const bool is_text = option.kind == OptionKind::text;
    yaml << YAML::Key << option.name << YAML::Value;
    if (option.is_list) {
      yaml << YAML::Flow << YAML::BeginSeq;
    }
    for (const std::string& value : values) {
      if (is_text) {
        yaml << YAML::DoubleQuoted;
      }
      yaml << value;
    }
    if (option.is_list) {
      yaml << YAML::EndSeq;
    }
  }
  yaml << YAML::EndMap;
  return std::string(yaml.c_str()) + "\n";
}

}  // namespace zllm::cli
