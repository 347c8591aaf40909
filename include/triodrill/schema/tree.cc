#include "triodrill/schema/tree.h"

#include <exception>
#include <sstream>

#include "triodrill/schema/utf8.h"
#include "triodrill/text.h"
#include "yaml-cpp/eventhandler.h"
#include "yaml-cpp/exceptions.h"
#include "yaml-cpp/parser.h"

namespace triodrill {
namespace {

// Thrown through yaml-cpp by Builder, to leave the parse at the first thing that is refused; never leaves this file.
struct Refused {
  Place place;
  std::string what;
  std::string hint;
};

// yaml-cpp counts from 0, and has no mark for some errors.
Place PlaceOf(const YAML::Mark& mark) { return mark.is_null() ? Place{} : Place{mark.line + 1, mark.column + 1}; }

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(YamlNode& root) : root_(root) {}

  Place document_start() const { return document_start_; }

  void OnDocumentStart(const YAML::Mark& mark) override { document_start_ = PlaceOf(mark); }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    if (AtKey()) throw Refused{PlaceOf(mark), "a key without a name", "write `name: value`"};
    // The mark of a value that is not there is that of whatever comes next.
    const bool in_mapping = !open_.empty() && open_.back()->kind == YamlNode::Kind::kMapping;
    const Place place = in_mapping ? open_.back()->keys.back().place : PlaceOf(mark);
    Add(YamlNode::Kind::kNull, place);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw Refused{PlaceOf(mark), "an alias (*)", "write the value out: aliases and anchors are not read"};
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    if (AtKey()) {
      open_.back()->keys.push_back({value, PlaceOf(mark)});
      return;
    }
    YamlNode& node = Add(YamlNode::Kind::kScalar, PlaceOf(mark));
    node.scalar = value;
    node.quoted = tag == "!";
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { open_.pop_back(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(YamlNode::Kind::kMapping, mark, tag, anchor);
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  bool AtKey() const {
    return !open_.empty() && open_.back()->kind == YamlNode::Kind::kMapping &&
           open_.back()->keys.size() == open_.back()->items.size();
  }

  static void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      throw Refused{PlaceOf(mark), "an anchor (&)", "write the value out: aliases and anchors are not read"};
    }
  }
  static void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (!tag.empty() && tag != "?" && tag != "!") {
      throw Refused{PlaceOf(mark), "a tag (!)", "leave it out: the schema knows the type of every value"};
    }
  }

  // The children of an open node only grow while none of them is open, so the pointers in open_ stay good.
  YamlNode& Add(YamlNode::Kind kind, Place place) {
    YamlNode* node = &root_;
    if (!open_.empty()) node = &open_.back()->items.emplace_back();
    node->kind = kind;
    node->place = place;
    return *node;
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    if (AtKey()) throw Refused{PlaceOf(mark), "a key that is a list or a mapping", "keys are plain names"};
    if (static_cast<int>(open_.size()) >= kMaxYamlDepth) {
      throw Refused{PlaceOf(mark), Cat("nested deeper than ", kMaxYamlDepth), "no drill needs that"};
    }
    open_.push_back(&Add(kind, PlaceOf(mark)));
  }

  YamlNode& root_;
  std::vector<YamlNode*> open_;
  Place document_start_;
};

Diagnostic Problem(std::string_view file, Place place, std::string what, std::string hint) {
  return {std::string(file), place.line, place.column, std::move(what), std::move(hint)};
}

// Bytes that no YAML text holds: what is not UTF-8, and control characters.
bool CheckBytes(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  Place place{1, 1};
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const size_t length = Utf8SequenceLength(text.substr(i));
    if (length == 0) {
      problems.push_back(Problem(file, place, "not UTF-8", "save the file as UTF-8"));
      return false;
    }
    if ((byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') || byte == 0x7F) {
      problems.push_back(Problem(file, place, "a control character", "remove it"));
      return false;
    }
    place = byte == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + static_cast<int>(length)};
    i += length;
  }
  return true;
}

// yaml-cpp looks ahead over everything that is open in flow style, at a cost that grows with the square of the depth:
// brackets are counted before it sees them. Counting inside quotes and comments as well only makes the bound stricter
// for texts that nobody writes.
bool CheckBrackets(std::string_view text, std::string_view file, std::vector<Diagnostic>& problems) {
  constexpr int kMostOpen = 256;
  int open = 0;
  Place place{1, 1};
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMostOpen) {
      problems.push_back(Problem(file, place, Cat("nested deeper than ", kMaxYamlDepth), "no drill needs that"));
      return false;
    }
    place = c == '\n' ? Place{place.line + 1, 1} : Place{place.line, place.column + 1};
  }
  return true;
}

std::string_view LineAt(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line) text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

bool IndentedByTab(std::string_view line) {
  return line.substr(0, line.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

// yaml-cpp says what it could not go on with, not what was meant.
std::string YamlHint(std::string_view message) {
  if (message.find("flow") != std::string_view::npos) return "a { or [ above is not closed";
  if (message.find("end of map") != std::string_view::npos || message.find("end of seq") != std::string_view::npos) {
    return "check the indentation of this line against those above";
  }
  return "check quotes, colons and indentation";
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].name == key) return &items[i];
  }
  return nullptr;
}

bool ParseTree(std::string_view text, std::string_view file, YamlNode& root, std::vector<Diagnostic>& problems) {
  if (text.size() > kMaxTextBytes) {
    problems.push_back(Problem(file, {1, 1}, Cat("larger than ", kMaxTextBytes >> 20, " MiB"), "split the file"));
    return false;
  }
  if (!CheckBytes(text, file, problems) || !CheckBrackets(text, file, problems)) return false;
  const auto refuse = [&](Place place, std::string what, std::string hint) {
    problems.push_back(Problem(file, place, std::move(what), std::move(hint)));
    return false;
  };
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(root);
    if (!parser.HandleNextDocument(builder) || root.kind == YamlNode::Kind::kNull) {
      return refuse({1, 1}, "the file is empty", Cat("begin with `apiVersion: ", kApiVersion, "` and `kind: Drill`"));
    }
    YamlNode rest;
    Builder second(rest);
    if (parser.HandleNextDocument(second)) {
      const Place start = rest.place.line > 0 ? rest.place : second.document_start();
      const bool marked = LineAt(text, second.document_start().line).starts_with("---");
      return refuse(start, marked ? "a second document" : "text after the end of the document",
                    marked ? "one document a file" : "look for a wrong indentation above");
    }
  } catch (const Refused& refused) {
    return refuse(refused.place, refused.what, refused.hint);
  } catch (const YAML::Exception& error) {
    const Place place = PlaceOf(error.mark);
    if (IndentedByTab(LineAt(text, place.line))) return refuse(place, "a tab in the indentation", "indent by blanks");
    return refuse(place, Cat("not YAML: ", error.msg), YamlHint(error.msg));
  } catch (const std::exception& error) {
    return refuse({1, 1}, Cat("not YAML: ", error.what()), "");
  }
  return true;
}

}  // namespace triodrill
