// The table of verbs, for completion.
#include "coordinator/cli/completion.h"

namespace triodrill::cli {
namespace {

OptionWords Flag(std::string_view name, std::string_view doc) { return {.name = name, .doc = doc}; }
OptionWords Value(std::string_view name, std::string_view doc, Word value = Word::kNothing) {
  return {.name = name, .doc = doc, .value = value, .takes_value = true, .choices = {}};
}

// What the verbs below `ledger` take, together.
VerbWords LedgerWords(const OptionWords& ledger, const OptionWords& json, const OptionWords& quarter) {
  OptionWords severity = Value("--severity", "of an incident");
  severity.choices = {"P0", "P1", "P2", "P3"};
  OptionWords ledger_format = Value("--format", "how everything is exported");
  ledger_format.choices = {"csv", "json"};
  return {"ledger",
          "the history of runs, suspects and incidents",
          Word::kNothing,
          {"add", "list", "sdc", "dispose", "incident", "export"},
          {ledger, json, quarter, ledger_format, severity, Value("--out", "file that is written", Word::kFile),
           Value("--release", "what of the fault-tolerance stack was drilled"), Value("--drill", "name of a drill"),
           Value("--pipeline", "name of a pipeline"), Value("--reason", "why an entry is disposed of so"),
           Value("--started", "when an incident began, in UTC"), Value("--detected", "when it was noticed, in UTC"),
           Value("--ended", "when it was over, in UTC"), Value("--summary", "what happened, in one line")}};
}

VerbWords CompareWords(const OptionWords& json, const OptionWords& across) {
  return {"compare",
          "is a run worse than another",
          Word::kBundle,
          {},
          {Value("--max-regression", "what may be worse, as in 10%"), Value("--alpha", "chance of a false alarm"),
           across, json, Flag("--md", "Markdown on standard output")}};
}

VerbWords ApproveWords() {
  return {"approve",
          "say yes to a plan and sign that",
          Word::kFile,
          {},
          {Value("--key", "your private key", Word::kFile), Value("--as", "your name"),
           Value("--expires", "for how long, as in 8h"), Value("--faults", "ids of faults, or all"),
           Value("--out", "file to write", Word::kFile), Flag("--yes", "without being asked")}};
}

std::vector<VerbWords> MakeVerbs() {
  const OptionWords json = Flag("--json", "one JSON object on standard output");
  const OptionWords out = Value("--out", "directory that keeps the bundle", Word::kDirectory);
  const OptionWords partition = Value("--partition", "file that describes the shadow partition", Word::kDrill);
  const OptionWords pipeline = Value("--pipeline", "file that describes the pipeline under test", Word::kDrill);
  const OptionWords state = Value("--state-dir", "where sockets, journals and logs are kept", Word::kDirectory);
  const OptionWords trials = Value("--trials", "faulted trials, instead of those that the drill asks for");
  const OptionWords sham = Value("--sham", "sham trials, instead of those that the drill asks for");
  const OptionWords seed = Value("--seed", "seed, instead of the one of the drill");
  const OptionWords quiet = Flag("--quiet", "no progress, problems only");
  const OptionWords torchrun = Flag("--torchrun", "drill torchrun, not the reference pipeline");
  OptionWords format = Value("--format", "how the report is written");
  format.choices = {"text", "md", "html", "json", "junit", "sarif"};
  const OptionWords report = Value("--out", "file that the report is written to", Word::kFile);
  const OptionWords packed = Value("--out", "file that the bundle is packed into", Word::kFile);
  const OptionWords power = Flag("--power", "how many trials the objectives need");
  const OptionWords sign = Value("--sign", "private key that signs the bundle", Word::kFile);
  const OptionWords key = Value("--key", "public key of whom you trust", Word::kFile);
  const OptionWords keys = Value("--out", "directory of the two keys", Word::kDirectory);
  const OptionWords ledger = Value("--ledger", "the file of the ledger", Word::kFile);
  const OptionWords quarter = Value("--quarter", "a quarter, as in 2026Q4");
  const OptionWords across = Flag("--across", "also where drill, profile or environment differ");
  OptionWords schema = Value("--json-schema", "JSON Schema of a kind of file or result");
  schema.choices = {"Drill", "Partition", "Pipeline", "AgentPolicy", "ShadowPolicy", "Run", "Trio", "Verdict"};
  return {
      {"validate", "check files without running anything", Word::kDrill, {}, {json}},
      {"explain",
       "what a kind of file or a fault is made of",
       Word::kNothing,
       {"drill", "partition", "pipeline"},
       {schema}},
      {"faults", "list the faults", Word::kNothing, {}, {json}},
      {"plan",
       "what a run would do",
       Word::kDrill,
       {},
       {partition, pipeline, state, trials, sham, seed, Value("--out", "file to write the plan to", Word::kFile), json,
        power}},
      {"run",
       "run a drill",
       Word::kDrill,
       {},
       {partition, pipeline, state, trials, sham, seed, Value("--approval", "file that approve wrote", Word::kFile),
        out, sign, json, quiet}},
      {"abort", "stop a run and undo its faults", Word::kNothing, {}, {partition, pipeline, state}},
      {"recover", "undo what a run left behind", Word::kNothing, {}, {partition, pipeline, state}},
      {"judge", "derive figures and verdict from a bundle", Word::kBundle, {}, {json}},
      {"report",
       "write the report of bundles, or of a quarter",
       Word::kBundle,
       {},
       {format, report, quarter, ledger, across}},
      {"pack", "put a bundle into one file", Word::kBundle, {}, {packed}},
      {"verify", "what a bundle proves", Word::kBundle, {}, {key, json}},
      CompareWords(json, across),
      LedgerWords(ledger, json, quarter),
      {"keygen", "make a pair of keys", Word::kNothing, {}, {keys}},
      ApproveWords(),
      {"shadow",
       "the embedded shadow partition",
       Word::kNothing,
       {"up", "down", "status"},
       {partition, pipeline, state, json}},
      {"demo", "drills on the embedded shadow partition", Word::kNothing, {}, {out, state, torchrun, quiet}},
      {"completion", "a completion script", Word::kNothing, {"bash", "zsh", "fish"}, {}},
      {"version", "the version", Word::kNothing, {}, {}},
  };
}

}  // namespace

std::span<const VerbWords> Verbs() {
  static const std::vector<VerbWords> kVerbs = MakeVerbs();
  return kVerbs;
}

}  // namespace triodrill::cli
