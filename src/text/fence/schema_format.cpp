#include <zllm/text/fence/schema_format.h>

#include <zllm/base/text.h>

namespace zllm::text {
namespace {

constexpr std::string_view kHour = "([01][0-9]|2[0-3])";
constexpr std::string_view kLabel = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
constexpr std::string_view kUuid = "[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";

// RFC 3339; the 29th of February only in leap years.
std::string date() {
  constexpr std::string_view kYear = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])";
  constexpr std::string_view kLeapYear =
      "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([2468][048]|0[48]|[13579][26])00)";
  return concat("(", kYear, "-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|",
                "(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|", kLeapYear,
                "-02-29)");
}

std::string time() {
  return concat(kHour, ":[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]", kHour, ":[0-5][0-9])");
}

// RFC 3339, appendix A.
std::string duration() {
  constexpr std::string_view kDate = "([0-9]+D|[0-9]+M([0-9]+D)?|[0-9]+Y([0-9]+M([0-9]+D)?)?)";
  constexpr std::string_view kTime = "T([0-9]+S|[0-9]+M([0-9]+S)?|[0-9]+H([0-9]+M([0-9]+S)?)?)";
  return concat("P([0-9]+W|", kDate, "(", kTime, ")?|", kTime, ")");
}

std::string hostname() { return concat(kLabel, "(\\.", kLabel, ")*"); }

// RFC 5321: a mailbox of atoms.
std::string email() {
  constexpr std::string_view kAtom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
  return concat(kAtom, "(\\.", kAtom, ")*@", hostname());
}

std::string ipv4() {
  constexpr std::string_view kOctet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
  return concat(kOctet, "(\\.", kOctet, "){3}");
}

// RFC 4291: at most one run of zeros left out.
std::string ipv6() {
  constexpr std::string_view kGroup = "[0-9A-Fa-f]{1,4}";
  std::string out =
      concat("((", kGroup, ":){7}", kGroup, "|(", kGroup, ":){1,7}:|:((:", kGroup, "){1,7}|:)");
  for (int before = 1; before <= 6; ++before) {
    out += concat("|(", kGroup, ":){1,", before, "}(:", kGroup, "){1,", 7 - before, "}");
  }
  return out + ")";
}

// RFC 3986, with a scheme.
std::string uri() {
  constexpr std::string_view kEncoded = "%[0-9A-Fa-f]{2}";
  constexpr std::string_view kPlain = "A-Za-z0-9._~!$&'()*+,;=";
  const std::string character = concat("([", kPlain, ":@-]|", kEncoded, ")");
  const std::string tail = concat("([", kPlain, ":@/?-]|", kEncoded, ")*");
  const std::string authority = concat("(([", kPlain, ":-]|", kEncoded, ")*@)?(\\[", ipv6(),
                                       "\\]|([", kPlain, "-]|", kEncoded, ")*)(:[0-9]*)?");
  const std::string path = concat(character, "+(/", character, "*)*");
  return concat("[A-Za-z][A-Za-z0-9+.-]*:(//", authority, "(/", character, "*)*|/(", path, ")?|",
                path, ")?(\\?", tail, ")?(#", tail, ")?");
}

std::optional<std::string> text_of(std::string_view format) {
  struct Known {
    std::string_view name;
    std::string (*make)();
  };
  constexpr Known kKnown[] = {
      {"date", date},         {"date-time", [] { return concat(date(), "T", time()); }},
      {"duration", duration}, {"email", email},
      {"hostname", hostname}, {"ipv4", ipv4},
      {"ipv6", ipv6},         {"time", time},
      {"uri", uri},           {"uuid", [] { return std::string(kUuid); }},
  };
  for (const Known& known : kKnown) {
    if (known.name == format) {
      return known.make();
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> format_pattern(std::string_view format) {
  const std::optional<std::string> text = text_of(format);
  return text ? std::optional(concat("^(", *text, ")$")) : std::nullopt;
}

}  // namespace zllm::text
