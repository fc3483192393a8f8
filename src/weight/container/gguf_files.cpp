#include <zllm/weight/container/gguf_files.h>

#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/container/gguf.h>
#include <zllm/weight/container/gguf_split.h>

namespace zllm::weight {
namespace {

struct Part {
  MappedFile file;
  GgufContents contents;
  GgufSplit split;
};

Error invalid(const std::string& path, std::string_view problem) {
  return Error{Code::invalid_file, concat(path, ": ", problem)};
}

Result<Part> open_part(const std::string& path) {
  ZLLM_TRY(MappedFile file, MappedFile::open(path));
  auto contents = parse_gguf(file.bytes());
  ZLLM_TRY(file.check());
  if (!contents.ok()) {
    return std::move(contents).error().within(path);
  }
  auto split = read_gguf_split(contents->metadata);
  if (!split.ok()) {
    return std::move(split).error().within(path);
  }
  return Part{std::move(file), std::move(contents).value(), *split};
}

Status add_tensors(Part& part, TensorTable& table) {
  const std::size_t file_number = table.add_file(std::move(part.file));
  for (GgufTensor& tensor : part.contents.tensors) {
    ZLLM_TRY(table.add({.name = std::string(tensor.name),
                        .encoding = tensor.encoding,
                        .shape = std::move(tensor.shape),
                        .bytes = tensor.bytes,
                        .file = file_number}));
  }
  return {};
}

// Whether a part belongs at its place in the set that the first part began.
Status check_part(const std::string& path, const Part& part, const GgufSplit& expected,
                  const std::optional<GgufMetadata>& first) {
  if (part.split.number != expected.number || part.split.count != expected.count) {
    return invalid(
        path, concat("its metadata says part ", part.split.number + 1, " of ", part.split.count,
                     ", its name part ", expected.number + 1, " of ", expected.count));
  }
  if (part.split.tensors && expected.tensors && *part.split.tensors != *expected.tensors) {
    return invalid(path, concat("metadata key 'split.tensors.count' is ", *part.split.tensors,
                                ", in the first part ", *expected.tensors));
  }
  const GgufMetadata& metadata = part.contents.metadata;
  auto architecture = metadata.string("general.architecture");
  if (!architecture.ok()) {
    return std::move(architecture).error().within(path);
  }
  if (first && *architecture) {
    ZLLM_TRY(const auto first_architecture, first->string("general.architecture"));
    if (first_architecture != *architecture) {
      return invalid(path, "metadata key 'general.architecture' is not that of the first part");
    }
  }
  return {};
}

Status check_tensor_count(const std::string& path, const GgufSplit& split,
                          const TensorTable& table) {
  if (split.tensors && *split.tensors != table.entries().size()) {
    return invalid(path, concat("metadata key 'split.tensors.count' is ", *split.tensors,
                                ", but there are ", table.entries().size(), " tensors"));
  }
  return {};
}

Result<ModelFiles> open_set(const std::string& path, std::string_view prefix, GgufSplit split) {
  ModelFiles model;
  model.path = path;
  split.tensors.reset();
  for (split.number = 0; split.number < split.count; ++split.number) {
    const std::string part_path = gguf_split_path(prefix, split);
    ZLLM_TRY(Part part, open_part(part_path));
    ZLLM_TRY(check_part(part_path, part, split, model.gguf));
    ZLLM_TRY(add_tensors(part, model.tensors));
    if (split.number == 0) {
      split.tensors = part.split.tensors;
      model.gguf = std::move(part.contents.metadata);
    }
  }
  ZLLM_TRY(check_tensor_count(gguf_split_path(prefix, {0, split.count, {}}), split, model.tensors));
  return model;
}

}  // namespace

Result<ModelFiles> open_gguf_files(const std::string& path) {
  ZLLM_TRY(Part part, open_part(path));
  if (part.split.count > 1) {
    const auto prefix = gguf_split_prefix(path, part.split);
    if (!prefix) {
      return invalid(
          path, concat("is part ", part.split.number + 1, " of ", part.split.count,
                       ", but its name does not end in ", quote(gguf_split_path("", part.split)),
                       ", so the other parts cannot be found"));
    }
    return open_set(path, *prefix, part.split);
  }
  ModelFiles model;
  model.path = path;
  ZLLM_TRY(add_tensors(part, model.tensors));
  ZLLM_TRY(check_tensor_count(path, part.split, model.tensors));
  model.gguf = std::move(part.contents.metadata);
  return model;
}

}  // namespace zllm::weight
