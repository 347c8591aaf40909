// run and demo: break something for real, and say what it cost.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordinator/cli/approvals.h"
#include "coordinator/cli/drill_run.h"
#include "coordinator/cli/inputs.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/os/clock.h"
#include "reports/evidence/archive.h"
#include "reports/render/terminal.h"
#include "reports/render/verdict_json.h"
#include "triodrill/text.h"

namespace triodrill::cli {
namespace {

// "20261129T201500Z-4711": sorts by time, differs between processes.
std::string NewRunId() {
  std::string id = coordinator::WallText(coordinator::WallNanos());
  id.erase(std::remove_if(id.begin(), id.end(), [](char c) { return c == '-' || c == ':'; }), id.end());
  return absl::StrCat(id, "-", getpid());
}

Session::Options SessionOptions(const Profiles& profiles, const std::string& run_id) {
  return {profiles.partition.message, profiles.pipeline.message, profiles.programs, profiles.state_dir, run_id};
}

DrillRequest RequestOf(const Loaded<v1::Drill>& drill, const Profiles& profiles, Bundle bundle) {
  return {drill.message, drill.text, profiles.partition.text, profiles.pipeline.text, std::move(bundle), nullptr, {}};
}

// A place for the evidence, before anything is brought up or broken. What will be packed is written down in a directory
// first, beside its archive.
std::optional<Bundle> MakeBundle(const std::string& named) {
  std::string directory = named;
  if (IsArchive(named)) {
    std::error_code ignored;
    if (std::filesystem::exists(named, ignored)) {
      PrintError(absl::StrCat("the evidence cannot be kept: ", named, " is there already; nothing was touched"));
      return std::nullopt;
    }
    directory.resize(directory.size() - kArchiveSuffix.size());
  }
  Result<Bundle> bundle = Bundle::Create(directory);
  if (bundle.ok()) return *std::move(bundle);
  PrintError(absl::StrCat("the evidence cannot be kept: ", bundle.status().message(), "; nothing was touched"));
  return std::nullopt;
}

// The key that signs, before anything is brought up. False: one was given and cannot be used.
bool ReadSigner(const std::string& path, std::optional<SigningKey>& signer) {
  if (path.empty()) return true;
  Result<SigningKey> key = SigningKey::Load(path);
  if (!key.ok()) {
    PrintError(absl::StrCat("the bundle could not be signed: ", key.status().message(), "; nothing was touched"));
    return false;
  }
  signer = *std::move(key);
  return true;
}

// The bundle's directory gives way to the archive, once that is whole. An incomplete one stays where it is.
Status PackIfAsked(const std::string& named, DrillResult& result) {
  std::error_code ignored;
  const bool incomplete = std::filesystem::exists(Cat(result.bundle, "/", kIncompleteFile), ignored);
  if (!IsArchive(named) || !result.derived || incomplete) return Ok();
  TRIODRILL_RETURN_IF_ERROR(PackBundle(result.bundle, named));
  std::filesystem::remove_all(result.bundle, ignored);
  result.bundle = named;
  return Ok();
}

std::string TextOf(const DrillResult& result) {
  if (!result.derived) return absl::StrCat("no verdict: ", result.problem, "\n");
  return TerminalReport(*result.plan, result.derived->trio, result.derived->verdict, result.bundle,
                        {.colour = isatty(STDOUT_FILENO) == 1});
}

}  // namespace

ExitCode Run(const RunOptions& options, Interrupts& interrupts) {
  ExitCode code = ExitCode::kInternal;
  std::optional<Loaded<v1::Drill>> drill = ReadDrill(options.drill, code);
  if (!drill) return code;
  const std::optional<Profiles> profiles = LoadProfiles(options.where, code);
  if (!profiles) return code;
  Override(drill->message, options.often);
  if (drill->message.spec().trials().faulted() + drill->message.spec().trials().sham() == 0) {
    PrintError("no trial is left to run; hint: give --trials or --sham a number above 0");
    return ExitCode::kUsage;
  }

  std::optional<SigningKey> signer;
  if (!ReadSigner(options.sign, signer)) return ExitCode::kInvalidFile;
  std::optional<std::vector<std::string>> approvals = ReadApprovals(options.approvals);
  if (!approvals) return ExitCode::kRefused;
  if (code = CheckBeforehand(*drill, *profiles, *approvals); code != ExitCode::kPassed) return code;

  coordinator::SystemClock clock;
  Voice voice(clock, options.quiet);
  const std::string run_id = NewRunId();
  const std::string out =
      options.out.empty() ? absl::StrCat("triodrill-out/", drill->message.metadata().name(), "-", run_id) : options.out;
  std::optional<Bundle> bundle = MakeBundle(out);
  if (!bundle) return ExitCode::kRefused;
  Result<std::unique_ptr<Session>> session = Session::Open(SessionOptions(*profiles, run_id), clock, voice, interrupts);
  if (!session.ok()) {
    Discard(*bundle);
    PrintError(std::string(session.status().message()));
    return CodeOf(session.status());
  }
  DrillRequest request = RequestOf(*drill, *profiles, *std::move(bundle));
  if (signer) request.signer = &*signer;
  request.approvals = *std::move(approvals);
  DrillResult result = RunDrill(**session, request, clock, voice);
  const Status closed = (*session)->Close();
  const Status packed = PackIfAsked(out, result);
  if (!result.derived) {
    PrintError(result.problem);
  } else if (options.json) {
    std::fputs(RunJson(result.derived->verdict, result.derived->trio, result.bundle).c_str(), stdout);
  } else {
    std::fputs(TextOf(result).c_str(), stdout);
  }
  if (!closed.ok()) {
    PrintError(std::string(closed.message()));
    return ExitCode::kUndoNotConfirmed;
  }
  if (!packed.ok() && result.exit_code != ExitCode::kUndoNotConfirmed) {
    PrintError(absl::StrCat(packed.message(), "; the bundle is whole in ", result.bundle));
    return ExitCode::kInternal;
  }
  return result.exit_code;
}

namespace {

struct DemoPart {
  const char* pipeline;
  const char* name;  // for people
  std::vector<const char*> drills;
};

DemoPart PartOf(const DemoOptions& options) {
  if (options.torchrun) {
    return {"torchrun",
            "torchrun",
            {"software/kill-one-rank.yaml", "software/pause-one-rank.yaml", "network/link-down.yaml",
             "hardware/straggler.yaml"}};
  }
  return {
      "reference",
      "the reference pipeline",
      {"software/kill-in-place.yaml", "software/hung-rank.yaml", "network/link-flap.yaml", "hardware/slow-rank.yaml",
       "data/flip-after-allreduce.yaml", "data/flip-before-allreduce.yaml", "hardware/drift.yaml"}};
}

// Runs one drill of the demo and prints its report.
DrillResult RunOne(Session& session, const Loaded<v1::Drill>& drill, const Profiles& profiles, Bundle bundle,
                   Clock& clock, Voice& voice) {
  voice.Say(absl::StrCat("drill ", drill.message.metadata().name(), ": ", drill.message.metadata().question()));
  DrillResult result = RunDrill(session, RequestOf(drill, profiles, std::move(bundle)), clock, voice);
  std::fputs(absl::StrCat("\n", TextOf(result), "\n").c_str(), stdout);
  std::fflush(stdout);
  return result;
}

bool EndsTheDemo(const DrillResult& result) {
  return result.exit_code == ExitCode::kAborted || result.exit_code == ExitCode::kUndoNotConfirmed;
}

}  // namespace

ExitCode Demo(const DemoOptions& options, Interrupts& interrupts) {
  const DemoPart part = PartOf(options);
  ExitCode code = ExitCode::kInternal;
  Where where;
  where.state_dir = options.state_dir;
  where.pipeline = part.pipeline;
  const std::optional<Profiles> profiles = LoadProfiles(where, code);
  if (!profiles) return code;
  coordinator::SystemClock clock;
  Voice voice(clock, options.quiet);
  const std::string run_id = NewRunId();
  const std::string out = options.out.empty() ? absl::StrCat("triodrill-out/demo-", run_id) : options.out;
  Result<std::unique_ptr<Session>> session = Session::Open(SessionOptions(*profiles, run_id), clock, voice, interrupts);
  if (!session.ok()) {
    PrintError(std::string(session.status().message()));
    return CodeOf(session.status());
  }

  std::vector<std::string> lines;
  std::vector<std::string> bundles;
  bool all_judged = true;
  for (const char* file : part.drills) {
    std::optional<Loaded<v1::Drill>> drill = ReadDrill(profiles->programs.data_dir + "/library/" + file, code);
    if (!drill) return code;
    Override(drill->message, {.trials = 1, .sham = 1});
    drill->message.mutable_spec()->mutable_trials()->clear_cooldown();  // the pipeline's own rest is awaited anyway
    const std::string& name = drill->message.metadata().name();
    std::optional<Bundle> bundle = MakeBundle(absl::StrCat(out, "/", name));
    if (!bundle) return ExitCode::kRefused;
    bundles.push_back(bundle->directory());
    const DrillResult result = RunOne(**session, *drill, *profiles, *std::move(bundle), clock, voice);
    all_judged = all_judged && result.derived && result.derived->verdict.outcome == RunOutcome::kFinished;
    lines.push_back(absl::StrFormat(
        "  %-22s %s", name, result.derived ? result.derived->verdict.headline : "no verdict: " + result.problem));
    if (!EndsTheDemo(result)) continue;
    code = result.exit_code;
    break;
  }
  const bool aborted = interrupts.came();
  const Status closed = (*session)->Close();
  std::printf("The verdicts of this demo (a FAIL is what the drill found out about %s, not a fault of the demo):\n",
              part.name);
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  std::printf("Evidence: %s/<drill>/; `triodrill judge DIR` derives each verdict again.\n", out.c_str());
  const std::string page = absl::StrCat(out, "/report.html");
  if (Report({.bundles = bundles, .format = "html", .out = page}) == ExitCode::kPassed) {
    std::printf("Pictures: %s\n", page.c_str());
  }
  if (!closed.ok()) {
    PrintError(std::string(closed.message()));
    return ExitCode::kUndoNotConfirmed;
  }
  if (code == ExitCode::kUndoNotConfirmed) return code;
  if (aborted) return ExitCode::kAborted;
  return all_judged ? ExitCode::kPassed : ExitCode::kUnreachable;
}

}  // namespace triodrill::cli
