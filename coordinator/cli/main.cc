// `triodrill`: parses the command line and calls the verb. CLI11 throws; nothing of it passes this file.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "coordinator/cli/completion.h"
#include "coordinator/cli/interrupt.h"
#include "coordinator/cli/verbs.h"
#include "coordinator/cli/version.h"

namespace triodrill::cli {
namespace {

struct Parsed {
  ValidateOptions validate;
  PlanOptions plan;
  RunOptions run;
  DemoOptions demo;
  StateOptions state;
  JudgeOptions judge;
  VerifyOptions verify;
  CompareBundlesOptions compare;
  KeygenOptions keygen;
  ApproveOptions approve;
  PackOptions pack;
  ReportOptions report;
  LedgerOptions ledger;
  FaultsOptions faults;
  ExplainOptions explain;
  std::string shell;
  std::function<ExitCode()> verb;
};

void AddWhere(CLI::App& verb, Where& where) {
  verb.add_option("--partition", where.partition,
                  "Partition profile: a file, or a name that is shipped (default: the one of the pipeline)");
  verb.add_option("--pipeline", where.pipeline,
                  "Pipeline profile: a file, or a name that is shipped: reference (default), torchrun");
  verb.add_option("--state-dir", where.state_dir, "Where sockets, journals and logs are kept")
      ->envname("TRIODRILL_STATE_DIR");
}

void AddLedgerFile(CLI::App& verb, std::string& file) {
  verb.add_option("--ledger", file, "The ledger's file (default: triodrill-ledger.sqlite)")
      ->envname("TRIODRILL_LEDGER");
}

void AddOften(CLI::App& verb, Often& often) {
  verb.add_option("--trials", often.trials, "Faulted trials, instead of the drill's own number")
      ->check(CLI::Range(0, 10000));
  verb.add_option("--sham", often.sham, "Sham trials, instead of the drill's own number")->check(CLI::Range(0, 10000));
  verb.add_option("--seed", often.seed, "Seed, instead of the drill's own")->check(CLI::NonNegativeNumber);
}

void AddReport(CLI::App& app, Parsed& parsed) {
  CLI::App* report =
      app.add_subcommand("report", "Write the report of a bundle, of several on one page, or of a quarter");
  report->add_option("bundle", parsed.report.bundles, "Directories or .tar.zst of bundles");
  report->add_option("--format", parsed.report.format, "text, md, html, json, junit or sarif")
      ->check(CLI::IsMember({"text", "md", "html", "json", "junit", "sarif"}));
  report->add_option("--out", parsed.report.out, "File to write, atomically (default: standard output)");
  CLI::Option* quarter = report->add_option(
      "--quarter", parsed.report.quarter, "Of the ledger, against the quarter before: 2026Q4; text, md, html or json");
  AddLedgerFile(*report, parsed.report.ledger);
  report->add_flag("--across", parsed.report.across, "Also where drill, profile or environment differ")->needs(quarter);
  report->callback([&] {
    if (parsed.report.bundles.empty() == parsed.report.quarter.empty()) {
      throw CLI::ValidationError("report", "name bundles, or a quarter with --quarter");
    }
    parsed.verb = [&] { return parsed.report.quarter.empty() ? Report(parsed.report) : ReportQuarter(parsed.report); };
  });
}

void AddOffline(CLI::App& app, Parsed& parsed) {
  CLI::App* validate = app.add_subcommand("validate", "Check YAML files; needs nothing else");
  validate->add_option("files", parsed.validate.files, "Files of any kind")->required();
  validate->add_flag("--json", parsed.validate.json, "One JSON array on standard output");
  validate->callback([&] { parsed.verb = [&] { return Validate(parsed.validate); }; });

  CLI::App* plan = app.add_subcommand("plan", "Show everything that a run would do, and the checks known beforehand");
  plan->add_option("drill", parsed.plan.drill, "Drill file")->required();
  AddWhere(*plan, parsed.plan.where);
  AddOften(*plan, parsed.plan.often);
  plan->add_option("--out", parsed.plan.out, "File to write the plan to, as plan.json holds it: what is approved");
  plan->add_flag("--json", parsed.plan.json, "The plan itself, as plan.json holds it");
  plan->add_flag("--power", parsed.plan.power, "How many trials the objectives need, instead of the plan");
  plan->callback([&] { parsed.verb = [&] { return ShowPlan(parsed.plan); }; });

  CLI::App* judge = app.add_subcommand("judge", "Measure and judge a bundle again from its timeline");
  judge->add_option("bundle", parsed.judge.bundle, "Directory or .tar.zst of the bundle")->required();
  judge->add_flag("--json", parsed.judge.json, "One JSON object on standard output");
  judge->callback([&] { parsed.verb = [&] { return Judge(parsed.judge); }; });

  AddReport(app, parsed);

  CLI::App* faults = app.add_subcommand("faults", "The fault catalogue");
  faults->add_flag("--json", parsed.faults.json, "One JSON array on standard output");
  faults->callback([&] { parsed.verb = [&] { return Faults(parsed.faults); }; });

  CLI::App* explain = app.add_subcommand("explain", "What a field or a fault means: drill.spec.faults.hold, link.down");
  explain->add_option("path", parsed.explain.path, "Field or fault; without it, what there is");
  explain->add_option("--json-schema", parsed.explain.json_schema,
                      "JSON Schema of a kind of file (Drill, …), or of a result (Run, Trio, Verdict)");
  explain->callback([&] { parsed.verb = [&] { return ExplainSchema(parsed.explain); }; });

  CLI::App* completion = app.add_subcommand("completion", "A completion script: bash, zsh or fish");
  completion->add_option("shell", parsed.shell, "bash, zsh or fish")->required();
  completion->callback([&] {
    parsed.verb = [&] {
      const Result<std::string> script = Completion(parsed.shell, Verbs());
      std::fputs(script.ok() ? script->c_str() : (std::string(script.status().message()) + "\n").c_str(),
                 script.ok() ? stdout : stderr);
      return script.ok() ? ExitCode::kPassed : ExitCode::kUsage;
    };
  });

  CLI::App* version = app.add_subcommand("version", "The version");
  version->callback([&] {
    parsed.verb = [] {
      std::printf("triodrill %s\n", std::string(kVersion).c_str());
      return ExitCode::kPassed;
    };
  });
}

void AddEvidence(CLI::App& app, Parsed& parsed) {
  CLI::App* verify = app.add_subcommand("verify", "What a bundle proves: signature, digests, chain, verdict");
  verify->add_option("bundle", parsed.verify.bundle, "Directory or .tar.zst of the bundle")->required();
  verify->add_option("--key", parsed.verify.key, "Public key of whom you trust: signing.pub")->required();
  verify->add_flag("--json", parsed.verify.json, "One JSON object on standard output");
  verify->callback([&] { parsed.verb = [&] { return Verify(parsed.verify); }; });

  CLI::App* pack = app.add_subcommand("pack", "Put a bundle into one file, which every verb here reads as it is");
  pack->add_option("bundle", parsed.pack.bundle, "Directory of the bundle")->required();
  pack->add_option("--out", parsed.pack.out, "File to write, NAME.tar.zst (default: the bundle's name)");
  pack->callback([&] { parsed.verb = [&] { return Pack(parsed.pack); }; });

  CLI::App* compare = app.add_subcommand("compare", "Is a run worse than another of the same drill?");
  compare->add_option("base", parsed.compare.base, "Bundle of the run before")->required();
  compare->add_option("new", parsed.compare.next, "Bundle of the run now")->required();
  compare->add_option("--max-regression", parsed.compare.max_regression, "What may be worse (default: 10%)");
  compare->add_option("--alpha", parsed.compare.alpha, "Chance of a false alarm (default: 0.05)");
  compare->add_flag("--across", parsed.compare.across, "Also where drill, profile or environment differ");
  compare->add_flag("--json", parsed.compare.json, "One JSON object on standard output");
  compare->add_flag("--md", parsed.compare.md, "Markdown on standard output, for the page of a job");
  compare->callback([&] { parsed.verb = [&] { return CompareBundles(parsed.compare); }; });

  CLI::App* keygen = app.add_subcommand("keygen", "Make a pair of keys: signing.key for run, signing.pub for verify");
  keygen->add_option("--out", parsed.keygen.out, "Directory of the two files; nothing is written over")->required();
  keygen->callback([&] { parsed.verb = [&] { return Keygen(parsed.keygen); }; });
}

void AddApprove(CLI::App& app, Parsed& parsed) {
  CLI::App* approve = app.add_subcommand("approve", "Say yes to the faults of a plan that wait for it, and sign that");
  approve->add_option("plan", parsed.approve.plan, "Plan that plan --out wrote")->required();
  approve->add_option("--key", parsed.approve.key, "Your private key: signing.key of keygen")->required();
  approve->add_option("--as", parsed.approve.name, "Your name, as partition and nodes have it")->required();
  approve->add_option("--expires", parsed.approve.expires, "For how long, 7 days at most (default: 8h)");
  approve->add_option("--faults", parsed.approve.faults, "Ids of faults, with commas, or all (default)");
  approve->add_option("--out", parsed.approve.out, "File to write; run wants it")->required();
  approve->add_flag("--yes", parsed.approve.yes, "Without being asked");
  approve->callback([&] { parsed.verb = [&] { return Approve(parsed.approve); }; });
}

void AddLedger(CLI::App& app, Parsed& parsed) {
  CLI::App* ledger = app.add_subcommand("ledger", "The history of runs, suspects of silent corruption and incidents");
  ledger->require_subcommand(1);
  LedgerOptions& options = parsed.ledger;
  const auto verb = [&](const char* name, const char* text, ExitCode (*call)(const LedgerOptions&)) {
    CLI::App* sub = ledger->add_subcommand(name, text);
    AddLedgerFile(*sub, options.ledger);
    sub->callback([&parsed, call] { parsed.verb = [&parsed, call] { return call(parsed.ledger); }; });
    return sub;
  };
  CLI::App* add = verb("add", "Put the runs of bundles into it, all or none", &LedgerAdd);
  add->add_option("bundle", options.bundles, "Directories or .tar.zst of complete bundles")->required();
  add->add_option("--release", options.release, "What of the fault-tolerance stack was drilled");

  CLI::App* list = verb("list", "Runs and incidents, by time", &LedgerList);
  list->add_option("--quarter", options.quarter, "Only this one: 2026Q4");
  list->add_option("--drill", options.drill, "Only this one");
  list->add_option("--pipeline", options.pipeline, "Only this one");
  list->add_flag("--json", options.json, "One JSON object on standard output");

  CLI::App* sdc = verb("sdc", "Every trial with changed data and every suspect, with re-tests", &LedgerSdc);
  sdc->add_flag("--json", options.json, "One JSON object on standard output");

  CLI::App* dispose = verb("dispose", "What became of an entry; what was said before is kept", &LedgerDispose);
  dispose->add_option("entry", options.entry, "Its number, as ledger sdc has it")->required();
  dispose->add_option("disposition", options.disposition, "injected, suspect, cleared, retired or unknown")
      ->required()
      ->check(CLI::IsMember({"injected", "suspect", "cleared", "retired", "unknown"}));
  dispose->add_option("--reason", options.reason, "Why")->required();

  CLI::App* incident = verb("incident", "Put a real incident beside the drills", &LedgerIncident);
  incident->add_option("--started", options.started, "Time in UTC: 2026-11-29T12:00:00Z")->required();
  incident->add_option("--severity", options.severity, "P0 cluster, P1 node, P2 performance, P3 advice")
      ->required()
      ->check(CLI::IsMember({"P0", "P1", "P2", "P3"}));
  incident->add_option("--summary", options.summary, "One line")->required();
  incident->add_option("--detected", options.detected, "When somebody or something noticed it, in UTC");
  incident->add_option("--ended", options.ended, "When it was over, in UTC");
  incident->add_option("--drill", options.drill, "The drill that asks for the like");
  incident->add_option("--pipeline", options.pipeline, "The pipeline that had to deal with it");
  incident->add_option("--release", options.release, "What of the fault-tolerance stack was in use");

  CLI::App* all = verb("export", "Everything in it, for other programs", &LedgerExport);
  all->add_option("--format", options.format, "csv or json")->check(CLI::IsMember({"csv", "json"}));
  all->add_option("--out", options.out, "File to write, atomically (default: standard output)");
}

void AddOnline(CLI::App& app, Parsed& parsed, const std::function<Interrupts&()>& interrupts) {
  CLI::App* run = app.add_subcommand("run", "Run a drill and leave its evidence");
  run->add_option("drill", parsed.run.drill, "Drill file")->required();
  AddWhere(*run, parsed.run.where);
  AddOften(*run, parsed.run.often);
  run->add_option("--approval", parsed.run.approvals, "File that approve wrote; once for each person");
  run->add_option("--out", parsed.run.out,
                  "Directory of the bundle, new or empty, or NAME.tar.zst (default: triodrill-out/NAME-RUN)");
  run->add_option("--sign", parsed.run.sign, "Private key that signs the bundle: signing.key of keygen")
      ->envname("TRIODRILL_SIGNING_KEY");
  run->add_flag("--json", parsed.run.json, "One JSON object on standard output");
  run->add_flag("-q,--quiet", parsed.run.quiet, "No progress, problems only");
  run->callback([&, interrupts] { parsed.verb = [&, interrupts] { return Run(parsed.run, interrupts()); }; });

  CLI::App* demo =
      app.add_subcommand("demo", "Drills of the reference pipeline, or of torchrun, on the embedded shadow partition");
  demo->add_option("--out", parsed.demo.out, "Directory of the bundles (default: triodrill-out/demo-RUN)");
  demo->add_option("--state-dir", parsed.demo.state_dir, "Where sockets, journals and logs are kept")
      ->envname("TRIODRILL_STATE_DIR");
  demo->add_flag("--torchrun", parsed.demo.torchrun, "Drill PyTorch's torchrun instead of the reference pipeline");
  demo->add_flag("-q,--quiet", parsed.demo.quiet, "No progress, results only");
  demo->callback([&, interrupts] { parsed.verb = [&, interrupts] { return Demo(parsed.demo, interrupts()); }; });

  CLI::App* abort = app.add_subcommand("abort", "End the run on a partition; it undoes everything first");
  AddWhere(*abort, parsed.state.where);
  abort->callback([&] { parsed.verb = [&] { return Abort(parsed.state); }; });

  CLI::App* recover =
      app.add_subcommand("recover", "Settle every undo that is still owed, and say what is not confirmed");
  AddWhere(*recover, parsed.state.where);
  recover->callback([&, interrupts] { parsed.verb = [&, interrupts] { return Recover(parsed.state, interrupts()); }; });

  CLI::App* shadow = app.add_subcommand("shadow", "The embedded shadow partition");
  shadow->require_subcommand(1);
  const auto add = [&](const char* name, const char* text, ExitCode (*verb)(const StateOptions&)) {
    CLI::App* sub = shadow->add_subcommand(name, text);
    AddWhere(*sub, parsed.state.where);
    sub->add_flag("--json", parsed.state.json, "One JSON object on standard output");
    sub->callback([&parsed, verb] { parsed.verb = [&parsed, verb] { return verb(parsed.state); }; });
  };
  add("up", "Bring it up, with its job, and leave it up", &ShadowUp);
  add("down", "Take it down; nothing is left", &ShadowDown);
  add("status", "What is up", &ShadowStatus);
}

ExitCode Main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  CLI::App app("Drills for the fault tolerance of GPU training clusters", "triodrill");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 passed, 1 failed, 2 inconclusive, 3 refused, 4 aborted, 5 an undo is not confirmed,\n"
      "64 usage, 65 invalid file, 69 out of reach, 70 internal. `triodrill VERB --help` tells more.");
  std::unique_ptr<Interrupts> interrupts;
  Parsed parsed;
  AddOffline(app, parsed);
  AddEvidence(app, parsed);
  AddApprove(app, parsed);
  AddLedger(app, parsed);
  AddOnline(app, parsed, [&interrupts]() -> Interrupts& {
    if (!interrupts) interrupts = std::make_unique<Interrupts>();
    return *interrupts;
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error);
    return asked_for_help ? ExitCode::kPassed : ExitCode::kUsage;
  }
  return parsed.verb();
}

}  // namespace
}  // namespace triodrill::cli

int main(int argc, char** argv) { return static_cast<int>(triodrill::cli::Main(argc, argv)); }
