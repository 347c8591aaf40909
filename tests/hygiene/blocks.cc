// The rules that need to know where a block of C++ begins and ends. A simple count of braces, over code without strings
// and comments: what stands before a brace tells a function's body from a scope of declarations.
#include <re2/re2.h>

#include <cctype>

#include "tests/hygiene/rules.h"

namespace triodrill::hygiene {
namespace {

constexpr size_t kLongestFunction = 70;
constexpr int kWidestInterface = 4;

struct Block {
  enum class Kind { kDeclarations, kClass, kFunction, kInner };
  Kind kind = Kind::kInner;
  std::string head;  // what stands before the brace
  size_t first_line = 0;
  size_t last_line = 0;
  int pure_virtuals = 0;
};

Block::Kind KindOf(const std::string& head, const std::vector<Block>& open) {
  static const RE2 kScope(R"(\b(namespace|extern)\b[^()=]*$)");
  static const RE2 kClass(R"((^|[;}>]|\s)(class|struct|union|enum)\b[^()=]*$)");
  if (!open.empty() && (open.back().kind == Block::Kind::kFunction || open.back().kind == Block::Kind::kInner)) {
    return Block::Kind::kInner;
  }
  if (RE2::PartialMatch(head, kScope)) return Block::Kind::kDeclarations;
  if (RE2::PartialMatch(head, kClass)) return Block::Kind::kClass;
  if (head.find('(') == std::string::npos) return Block::Kind::kInner;
  return Block::Kind::kFunction;
}

std::string WithoutDirectives(const std::string& code) {
  std::string text;
  bool continued = false;
  for (const std::string& line : Lines(code)) {
    const size_t first = line.find_first_not_of(" \t");
    const bool directive = continued || (first != std::string::npos && line[first] == '#');
    continued = directive && line.ends_with('\\');
    text += (directive ? "" : line) + "\n";
  }
  return text;
}

// Every block, in the order of their ends.
std::vector<Block> BlocksOf(const SourceFile& file) {
  static const RE2 kPure(R"(\bvirtual\b[\s\S]*=\s*0\s*$)");
  std::vector<Block> done;
  std::vector<Block> open;
  std::string head;
  size_t line = 1;
  for (const char c : WithoutDirectives(CodeOnly(file.text))) {
    if (c == '\n') ++line;
    if (c == '{') {
      const Block::Kind kind = KindOf(head, open);
      open.push_back({.kind = kind, .head = head, .first_line = line, .last_line = line, .pure_virtuals = 0});
    } else if (c == '}' && !open.empty()) {
      open.back().last_line = line;
      done.push_back(open.back());
      open.pop_back();
    } else if (c == ';' && !open.empty() && RE2::PartialMatch(head, kPure)) {
      ++open.back().pure_virtuals;
    }
    if (c == '{' || c == '}' || c == ';') {
      head.clear();
    } else if (!head.empty() || std::isspace(static_cast<unsigned char>(c)) == 0) {
      head += c == '\n' ? ' ' : c;
    }
  }
  return done;
}

std::string Finding(const SourceFile& file, const Block& block, const std::string& what) {
  return file.path + ":" + std::to_string(block.first_line) + ": " + what + ": " + block.head.substr(0, 80);
}

}  // namespace

Findings LongFunctions(const Files& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCpp()) continue;
    for (const Block& block : BlocksOf(file)) {
      const size_t lines = block.last_line - block.first_line + 1;
      if (block.kind != Block::Kind::kFunction || lines <= kLongestFunction) continue;
      findings.push_back(Finding(file, block, "a function of " + std::to_string(lines) + " lines"));
    }
  }
  return findings;
}

Findings WideInterfaces(const Files& files) {
  Findings findings;
  for (const SourceFile& file : files) {
    if (!file.IsCpp()) continue;
    for (const Block& block : BlocksOf(file)) {
      if (block.pure_virtuals <= kWidestInterface) continue;
      findings.push_back(Finding(file, block, "an interface of " + std::to_string(block.pure_virtuals) + " functions"));
    }
  }
  return findings;
}

}  // namespace triodrill::hygiene
