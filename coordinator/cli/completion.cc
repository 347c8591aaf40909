#include "coordinator/cli/completion.h"

#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

std::string Joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) Append(text, text.empty() ? "" : " ", word);
  return text;
}

std::string NamesOf(std::span<const VerbWords> verbs) {
  std::vector<std::string_view> names;
  for (const VerbWords& verb : verbs) names.push_back(verb.name);
  return Joined(names);
}

std::string NamesOf(std::span<const OptionWords> options) {
  std::vector<std::string_view> names;
  for (const OptionWords& option : options) names.push_back(option.name);
  names.push_back("--help");
  return Joined(names);
}

// ---- bash

std::string BashWords(Word word, std::span<const std::string_view> choices) {
  if (!choices.empty()) return Cat("COMPREPLY=($(compgen -W '", Joined(choices), "' -- \"$word\"))");
  switch (word) {
    case Word::kNothing:
      return "COMPREPLY=()";
    case Word::kFile:
      return "_triodrill_paths -f";
    case Word::kDrill:
      return "_triodrill_paths -f -X '!*.@(yaml|yml)'";
    case Word::kDirectory:
    case Word::kBundle:
      return "_triodrill_paths -d";
  }
  return "COMPREPLY=()";
}

std::string Bash(std::span<const VerbWords> verbs) {
  std::string text = R"(# bash completion for triodrill
_triodrill_paths() {
  local path
  compopt -o filenames 2>/dev/null
  COMPREPLY=()
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(
    shopt -s extglob
    compgen "$@" -- "$word"
    [[ $1 == -d ]] || compgen -d -- "$word"
  )
}
_triodrill() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
)";
  Append(text, "  if [[ $COMP_CWORD -eq 1 ]]; then\n    COMPREPLY=($(compgen -W '", NamesOf(verbs),
         " --help' -- \"$word\"))\n    return\n  fi\n  case \"${COMP_WORDS[1]} $previous\" in\n");
  for (const VerbWords& verb : verbs) {
    for (const OptionWords& option : verb.options) {
      if (!option.takes_value) continue;
      Append(text, "    '", verb.name, " ", option.name, "') ", BashWords(option.value, option.choices),
             "; return ;;\n");
    }
  }
  text += "  esac\n  case ${COMP_WORDS[1]} in\n";
  for (const VerbWords& verb : verbs) {
    Append(text, "    ", verb.name, ")\n      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '",
           NamesOf(verb.options), "' -- \"$word\")); else ", BashWords(verb.argument, verb.choices), "; fi ;;\n");
  }
  text += "  esac\n}\ncomplete -F _triodrill triodrill\n";
  return text;
}

// ---- zsh

std::string ZshAction(Word word, std::span<const std::string_view> choices) {
  if (!choices.empty()) return Cat("(", Joined(choices), ")");
  switch (word) {
    case Word::kNothing:
      return " ";
    case Word::kFile:
      return "_files";
    case Word::kDrill:
      return "_files -g \"*.(yaml|yml)\"";
    case Word::kDirectory:
    case Word::kBundle:
      return "_files -/";
  }
  return " ";
}

std::string Zsh(std::span<const VerbWords> verbs) {
  std::string text = "#compdef triodrill\n_triodrill() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbWords& verb : verbs) Append(text, "    '", verb.name, ":", verb.doc, "'\n");
  text += "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n  case $words[2] in\n";
  for (const VerbWords& verb : verbs) {
    Append(text, "    ", verb.name, ")\n      _arguments '1: :' '--help[show help]'");
    for (const OptionWords& option : verb.options) {
      Append(text, " \\\n        '", option.name, "[", option.doc, "]");
      if (option.takes_value) Append(text, ":value:", ZshAction(option.value, option.choices));
      text += "'";
    }
    const bool takes_argument = verb.argument != Word::kNothing || !verb.choices.empty();
    if (takes_argument) Append(text, " \\\n        '*:argument:", ZshAction(verb.argument, verb.choices), "'");
    text += " ;;\n";
  }
  text +=
      "  esac\n}\nif [[ $funcstack[1] == _triodrill ]]; then _triodrill \"$@\"; else compdef _triodrill triodrill; "
      "fi\n";
  return text;
}

// ---- fish

std::string FishWords(Word word, std::span<const std::string_view> choices) {
  if (!choices.empty()) return Cat(" -a '", Joined(choices), "'");
  switch (word) {
    case Word::kNothing:
      return "";
    case Word::kFile:
      return " -F";
    case Word::kDrill:
      return " -a '(__fish_complete_suffix .yaml)'";
    case Word::kDirectory:
    case Word::kBundle:
      return " -a '(__fish_complete_directories)'";
  }
  return "";
}

std::string Fish(std::span<const VerbWords> verbs) {
  std::string text = "# fish completion for triodrill\ncomplete -c triodrill -f\n";
  for (const VerbWords& verb : verbs) {
    Append(text, "complete -c triodrill -n __fish_use_subcommand -a ", verb.name, " -d '", verb.doc, "'\n");
    const std::string within = Cat("complete -c triodrill -n '__fish_seen_subcommand_from ", verb.name, "'");
    const std::string words = FishWords(verb.argument, verb.choices);
    if (!words.empty()) Append(text, within, words, "\n");
    for (const OptionWords& option : verb.options) {
      Append(text, within, " -l ", option.name.substr(2), " -d '", option.doc, "'");
      if (option.takes_value) Append(text, " -x", FishWords(option.value, option.choices));
      text += "\n";
    }
  }
  return text;
}

}  // namespace

Result<std::string> Completion(std::string_view shell, std::span<const VerbWords> verbs) {
  if (shell == "bash") return Bash(verbs);
  if (shell == "zsh") return Zsh(verbs);
  if (shell == "fish") return Fish(verbs);
  return absl::InvalidArgumentError(Cat("write completion for \"", shell, "\": known are bash, zsh and fish"));
}

}  // namespace triodrill::cli
