// YAML as anybody may hand it to `triodrill validate`: every complaint has a place in the text, and what is accepted
// comes back the same through JSON.
#include "coordinator/load/load.h"
#include "tests/fuzz/fuzz.h"
#include "triodrill/schema/json.h"

namespace triodrill {
namespace {

template <typename T>
void ComesBack(const Loaded<T>& loaded) {
  const std::string json = ToJson(loaded.message);
  T again;
  fuzz::Must(FromJson(json, again).ok(), "what was accepted cannot be read back from JSON");
  fuzz::Must(ToJson(again) == json, "what was accepted comes back otherwise");
}

template <typename Load>
void Try(Load load, std::string_view text, int lines) {
  std::vector<Diagnostic> problems;
  const auto loaded = load(text, "f", problems);
  for (const Diagnostic& problem : problems) {
    fuzz::Must(problem.line >= 0 && problem.line <= lines && problem.column >= 0, "a complaint lies outside the text");
    fuzz::Must(!problem.what.empty(), "a complaint says nothing");
  }
  if (problems.empty()) ComesBack(loaded);
}

}  // namespace
}  // namespace triodrill

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const int lines = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 2;
  std::vector<triodrill::Diagnostic> problems;
  triodrill::Validate(text, "f", problems);
  triodrill::Try(triodrill::LoadDrill, text, lines);
  triodrill::Try(triodrill::LoadPartition, text, lines);
  triodrill::Try(triodrill::LoadPipeline, text, lines);
  return 0;
}
