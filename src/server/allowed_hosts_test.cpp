#include <zllm/server/allowed_hosts.h>

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace zllm::server {
namespace {

using testing::HasSubstr;

AllowedHosts hosts_of(std::string listens_at, std::vector<std::string> names = {},
                      std::vector<std::string> keys = {}) {
  ServerOptions options;
  options.transport.host = std::move(listens_at);
  options.allowed_hosts = std::move(names);
  options.api_keys = std::move(keys);
  auto hosts = AllowedHosts::create(options);
  EXPECT_TRUE(hosts.ok());
  return *std::move(hosts);
}

bool allows(const AllowedHosts& hosts, std::string host) {
  http::HttpRequest request;
  request.headers = {{"host", std::move(host)}, {"user-agent", "Mozilla/5.0 (X11)"}};
  return !hosts.refuse(request);
}

TEST(AllowedHostsTest, LoopbackWithoutKeysAnswersToItsOwnNamesAlone) {
  const AllowedHosts hosts = hosts_of("127.0.0.1");
  for (const char *host :
       {"localhost", "localhost:8080", "LocalHost.", "localhost.:1", "a.b.localhost:80",
        "127.0.0.1", "127.0.0.1:8080", "127.255.0.9", "127.0.0.1.", "[::1]", "[::1]:8080",
        "[0:0::1]:1", "[0000:0000:0000:0000:0000:0000:0000:0001]"}) {
    EXPECT_TRUE(allows(hosts, host)) << host;
  }
  for (const char *host : {"evil.example",
                           "evil.example:8080",
                           "localhost.evil.example",
                           "evillocalhost",
                           ".",
                           "127.0.0.1.evil.example",
                           "1270.0.0.1",
                           "128.0.0.1",
                           "10.0.0.1",
                           "0.0.0.0",
                           "[::2]",
                           "[::1",
                           "[]",
                           "[",
                           "[::1]evil",
                           "[localhost]",
                           "::1",
                           "me@localhost",
                           "localhost@evil",
                           "localhost:80:80",
                           "evil localhost",
                           "\xff"}) {
    EXPECT_FALSE(allows(hosts, host)) << host;
  }
}

TEST(AllowedHostsTest, ProgramsMayNameWhatTheyLikeUnlessNamesAreGiven) {
  const auto refuses = [](const AllowedHosts& hosts, http::Headers headers) {
    http::HttpRequest request;
    request.headers = std::move(headers);
    request.headers.emplace_back("host", "box.example");
    return hosts.refuse(request).has_value();
  };
  const AllowedHosts hosts = hosts_of("127.0.0.1");
  EXPECT_FALSE(refuses(hosts, {}));
  EXPECT_FALSE(refuses(hosts, {{"user-agent", "python-httpx/0.28"}}));
  EXPECT_TRUE(refuses(hosts, {{"user-agent", "Mozilla/5.0 (X11)"}}));
  EXPECT_TRUE(refuses(hosts, {{"origin", "null"}}));
  EXPECT_TRUE(refuses(hosts, {{"sec-fetch-site", "same-origin"}}));
  EXPECT_TRUE(refuses(hosts_of("127.0.0.1", {"a.example"}), {}));
}

TEST(AllowedHostsTest, WhoNamesNoHostIsNoBrowser) {
  const AllowedHosts hosts = hosts_of("127.0.0.1");
  EXPECT_FALSE(hosts.refuse({}));
  EXPECT_TRUE(allows(hosts, ""));
}

TEST(AllowedHostsTest, KeysAndOtherAddressesAnswerToAnyUnlessNamesAreGiven) {
  EXPECT_TRUE(allows(hosts_of("127.0.0.1", {}, {"key"}), "evil.example"));
  for (const char *address : {"0.0.0.0", "::", "192.0.2.1"}) {
    EXPECT_TRUE(allows(hosts_of(address), "evil.example")) << address;
    EXPECT_FALSE(allows(hosts_of(address, {"a.example"}), "evil.example")) << address;
    EXPECT_TRUE(allows(hosts_of(address, {"a.example"}), "a.example")) << address;
    EXPECT_TRUE(allows(hosts_of(address, {"a.example"}), "localhost")) << address;
  }
  EXPECT_FALSE(allows(hosts_of("127.0.0.1", {"a.example"}, {"key"}), "evil.example"));
}

TEST(AllowedHostsTest, GivenNamesAreAnyCaseWithOrWithoutDotAndPort) {
  const AllowedHosts hosts = hosts_of("127.0.0.1", {"Proxy.Example.", "FE80::0:1", "[fd00::1]"});
  for (const char *host : {"proxy.example", "PROXY.EXAMPLE.:443", "[fe80::1]:80", "[FD00:0::1]",
                           "localhost", "127.0.0.1:1"}) {
    EXPECT_TRUE(allows(hosts, host)) << host;
  }
  for (const char *host : {"a.proxy.example", "proxy.example.evil", "[fe80::2]"}) {
    EXPECT_FALSE(allows(hosts, host)) << host;
  }
  EXPECT_TRUE(allows(hosts_of("127.0.0.1", {"a", "*"}), "evil.example"));
}

TEST(AllowedHostsTest, TheHostToListenOnIsOne) {
  EXPECT_TRUE(allows(hosts_of("Box.Localhost"), "box.localhost:1"));
  EXPECT_TRUE(allows(hosts_of("192.0.2.1", {"a"}), "192.0.2.1:80"));
  EXPECT_TRUE(allows(hosts_of("[fd00::1]", {"a"}), "[fd00::1]:80"));
}

TEST(AllowedHostsTest, TheRefusalNamesTheHostAndTheOption) {
  http::HttpRequest request;
  request.headers = {{"host", "Evil.Example:8080"}, {"origin", "http://evil.example:8080"}};
  const auto refusal = hosts_of("127.0.0.1").refuse(request);
  ASSERT_TRUE(refusal);
  EXPECT_THAT(refusal->message, HasSubstr("--allowed-hosts 'evil.example'"));
  EXPECT_EQ(refusal->code, "permission_error");
}

TEST(AllowedHostsTest, WhatIsNoNameIsNoOption) {
  for (const char *name : {"", ".", "a:80", "http://a", "a/b", "a b", "*.a", "**", "[::1]:80",
                           "[::1", ".a", "a..b", "me@a", "::g"}) {
    const Status checked = check_allowed_hosts({"fine", name});
    ASSERT_FALSE(checked.ok()) << name;
    EXPECT_THAT(checked.error().message, HasSubstr("--allowed-hosts")) << name;
  }
  EXPECT_TRUE(check_allowed_hosts({"a", "A.b-c_d.9.", "127.0.0.1", "::1", "[::1]", "*"}).ok());
}

TEST(LoopbackTest, IsKnownByAddressAndName) {
  for (const char *host : {"127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "::1", "[::1]",
                           "0:0::1", "::ffff:127.0.0.1", "[::ffff:127.0.0.1]"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char *host : {"0.0.0.0", "::", "192.0.2.1", "::ffff:192.0.2.1", "128.0.0.1"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace zllm::server
