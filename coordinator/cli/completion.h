// Completion scripts for shells, made from one table of verbs and options. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "triodrill/status.h"

namespace triodrill::cli {

// What a word is completed to.
enum class Word {
  kNothing,  // a text of the user's own
  kFile,
  kDirectory,
  kDrill,   // a .yaml file
  kBundle,  // a directory
};

struct OptionWords {
  std::string_view name;        // "--out"
  std::string_view doc;         // one line; no quote in it, and no full stop
  Word value = Word::kNothing;  // meaningful if takes_value
  bool takes_value = false;
  std::vector<std::string_view> choices;  // of its value
};

struct VerbWords {
  std::string_view name;
  std::string_view doc;
  Word argument = Word::kNothing;
  std::vector<std::string_view> choices;  // of its argument
  std::vector<OptionWords> options;       // besides --help
};

// The verbs of `triodrill`. A test holds them against what the program takes.
std::span<const VerbWords> Verbs();

// The script for bash, zsh or fish; an error that names these for any other.
Result<std::string> Completion(std::string_view shell, std::span<const VerbWords> verbs);

}  // namespace triodrill::cli
