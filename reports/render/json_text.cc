#include "reports/render/json_text.h"

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestLine = 120;

// Nanoseconds as seconds have nine decimals; 0.41 and 1.0 rather than 0.410000000 and 1.
std::string Decimal(double value) {
  std::string text = absl::StrFormat("%.9f", value);
  while (text.back() == '0' && text[text.size() - 2] != '.') text.pop_back();
  return text;
}

void Append(const Json& tree, size_t indent, bool wide, std::string& out);

void AppendLine(size_t indent, std::string& out) {
  out += '\n';
  out.append(indent, ' ');
}

void AppendMembers(const Json& tree, size_t indent, bool wide, std::string& out) {
  const bool object = tree.is_object();
  out += object ? '{' : '[';
  if (wide) AppendLine(indent + 2, out);
  bool first = true;
  for (auto member = tree.begin(); member != tree.end(); ++member) {
    if (!first) out += wide ? "," : ", ";
    if (!first && wide) AppendLine(indent + 2, out);
    first = false;
    if (object) {
      AppendJsonString(member.key(), out);
      out += ": ";
    }
    Append(*member, indent + 2, wide, out);
  }
  if (wide) AppendLine(indent, out);
  out += object ? '}' : ']';
}

// `wide`: one member a line, unless it fits into one.
void Append(const Json& tree, size_t indent, bool wide, std::string& out) {
  switch (tree.type()) {
    case Json::value_t::string:
      AppendJsonString(tree.get_ref<const std::string&>(), out);
      return;
    case Json::value_t::number_float:
      out += Decimal(tree.get<double>());
      return;
    case Json::value_t::object:
    case Json::value_t::array:
      break;
    default:
      out += tree.dump();
      return;
  }
  if (wide && !tree.empty()) {
    std::string line;
    AppendMembers(tree, indent, false, line);
    if (indent == 0 || line.size() > kLongestLine) {
      AppendMembers(tree, indent, true, out);
    } else {
      out += line;
    }
    return;
  }
  AppendMembers(tree, indent, false, out);
}

}  // namespace

std::string JsonText(const Json& tree) {
  std::string out;
  Append(tree, 0, true, out);
  out += '\n';
  return out;
}

}  // namespace triodrill
