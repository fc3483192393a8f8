#include <zllm/dialect/catalog/catalog.h>

#include <gtest/gtest.h>

namespace zllm::dialect {
namespace {

TEST(Catalog, NamesAndPathsAreUnique) {
  for (const Dialect& dialect : all_dialects()) {
    EXPECT_EQ(find_dialect(dialect.name), &dialect);
    EXPECT_EQ(&dialect_of(dialect.path), &dialect);
  }
  EXPECT_EQ(find_dialect("nobody's"), nullptr);
}

TEST(Catalog, APathBelowADialectsIsItsOwnAndOthersAreOpenAIs) {
  EXPECT_EQ(dialect_of("/v1/messages/count_tokens").name, "messages");
  EXPECT_EQ(dialect_of("/v1/responses/resp_1").name, "responses");
  EXPECT_EQ(dialect_of("/v1/models").name, "chat");
}

TEST(Catalog, EveryDialectRefusesABodyThatIsNotItsOwn) {
  const Json body = *Json::parse(R"({"no such member": 1})", "");
  for (const Dialect& dialect : all_dialects()) {
    const auto read = dialect.read(body, {.unique = "u", .created = 1, .model = "m"}, {});
    ASSERT_FALSE(read.ok()) << dialect.name;
    EXPECT_NE(dialect.error_body(read.error(), "req_1").find("error"), std::string::npos);
  }
}

}  // namespace
}  // namespace zllm::dialect
