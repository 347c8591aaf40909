#include "reports/ledger/ledger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "reports/ledger/calendar.h"
#include "reports/ledger/read.h"
#include "reports/ledger/schema.h"
#include "triodrill/text.h"

namespace triodrill::ledger {
namespace {

constexpr mode_t kOnlyOwner = 0600;

SqlValue Low(const std::optional<Timed>& time) {
  return time ? SqlValue(int64_t{time->low.count()}) : SqlValue(std::monostate{});
}
SqlValue High(const std::optional<Timed>& time) {
  return time && time->high ? SqlValue(int64_t{time->high->count()}) : SqlValue(std::monostate{});
}
template <typename Value>
SqlValue Of(const std::optional<Value>& value) {
  return value ? SqlValue(*value) : SqlValue(std::monostate{});
}
SqlValue Of(bool value) { return int64_t{value ? 1 : 0}; }

// The file itself, empty, for its owner alone: SQLite would make it for everybody. One that is there is left as it is.
Status MakeFile(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kOnlyOwner);
  if (fd < 0) return errno == EEXIST ? Ok() : ErrnoStatus("make ledger", path);
  ::close(fd);
  return Ok();
}

std::string QuarterNameOf(const std::string& utc) { return QuarterName(QuarterOf(utc)); }

}  // namespace

// `fresh`: the file is empty. Anything but a ledger of this version is an error.
Status Ledger::CheckVersion(const std::string& path, bool& fresh) {
  TRIODRILL_ASSIGN_OR_RETURN(Statement counted, database_.Query("SELECT count(*) FROM sqlite_schema"));
  TRIODRILL_RETURN_IF_ERROR(counted.Next().status());
  TRIODRILL_ASSIGN_OR_RETURN(Statement application, database_.Query("PRAGMA application_id"));
  TRIODRILL_RETURN_IF_ERROR(application.Next().status());
  fresh = counted.Int(0) == 0 && application.Int(0) == 0;
  if (fresh) return Ok();
  if (application.Int(0) != kApplicationId) {
    return absl::DataLossError(Cat("open ledger ", path, ": it is an SQLite file, and no ledger; name another file"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(Statement asked, database_.Query("SELECT value FROM meta WHERE key = 'schema_version'"));
  TRIODRILL_ASSIGN_OR_RETURN(const bool there, asked.Next());
  const std::string text = there ? asked.Text(0) : "";
  int64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 1) {
    return absl::DataLossError(Cat("open ledger ", path, ": its schema version \"", text.substr(0, 40), "\" is none"));
  }
  if (version > kSchemaVersion) {
    return absl::DataLossError(Cat("open ledger ", path, ": it was written by a newer triodrill (schema ", version,
                                   ", this one knows ", kSchemaVersion, "); use that one"));
  }
  return Ok();
}

Result<Ledger> Ledger::OpenToRead(const std::string& path, Nanos patience) {
  struct stat seen {};
  if (::stat(path.c_str(), &seen) != 0) {
    if (errno != ENOENT) return ErrnoStatus("open ledger", path);
    return absl::NotFoundError(Cat("open ledger ", path, ": there is none; `triodrill ledger add BUNDLE` makes it"));
  }
  TRIODRILL_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Mode::kRead, patience));
  Ledger ledger(std::move(database));
  bool fresh = false;
  Status checked = ledger.CheckVersion(path, fresh);
  if (Database::WriterDied(checked)) {
    // Its journal is taken back by whoever looks at it with the right to write, and only then can it be read.
    TRIODRILL_ASSIGN_OR_RETURN(Database writable, Database::Open(path, Database::Mode::kWrite, patience));
    TRIODRILL_RETURN_IF_ERROR(writable.Run("SELECT count(*) FROM sqlite_schema"));
    checked = ledger.CheckVersion(path, fresh);
  }
  TRIODRILL_RETURN_IF_ERROR(checked);
  if (fresh)
    return absl::DataLossError(Cat("open ledger ", path, ": it is empty; `triodrill ledger add BUNDLE` fills it"));
  return ledger;
}

Result<Ledger> Ledger::OpenToWrite(const std::string& path, Nanos patience) {
  TRIODRILL_RETURN_IF_ERROR(MakeFile(path));
  TRIODRILL_ASSIGN_OR_RETURN(Database database, Database::Open(path, Database::Mode::kWrite, patience));
  Ledger ledger(std::move(database));
  bool fresh = false;
  TRIODRILL_RETURN_IF_ERROR(ledger.CheckVersion(path, fresh));
  // One file that may be copied, and read where its directory may not be written to: no write-ahead log.
  TRIODRILL_RETURN_IF_ERROR(ledger.database_.Run("PRAGMA journal_mode = DELETE"));
  TRIODRILL_RETURN_IF_ERROR(ledger.database_.Run("PRAGMA synchronous = EXTRA"));
  if (!fresh) return ledger;
  TRIODRILL_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(ledger.database_));
  TRIODRILL_RETURN_IF_ERROR(ledger.CheckVersion(path, fresh));  // another process may have been quicker
  if (fresh) {
    TRIODRILL_RETURN_IF_ERROR(ledger.database_.RunAll(kSchema));
    TRIODRILL_RETURN_IF_ERROR(ledger.database_.Run("INSERT INTO meta(key, value) VALUES('schema_version', ?1)",
                                                   {std::to_string(kSchemaVersion)}));
    static_assert(kApplicationId == 860123753, "as it stands in the statement, which takes no value");
    TRIODRILL_RETURN_IF_ERROR(ledger.database_.Run("PRAGMA application_id = 860123753"));
  }
  TRIODRILL_RETURN_IF_ERROR(transaction.Commit());
  return ledger;
}

Status Ledger::PutConditions(const RunRow& run, const Conditions& conditions) {
  TRIODRILL_RETURN_IF_ERROR(
      database_.Run("INSERT INTO condition_set(digest) VALUES(?1) ON CONFLICT DO NOTHING", {run.conditions}));
  for (const auto& [what, value] : conditions) {
    TRIODRILL_RETURN_IF_ERROR(
        database_.Run("INSERT INTO condition(digest, what, value) VALUES(?1, ?2, ?3) ON CONFLICT DO NOTHING",
                      {run.conditions, what, value}));
  }
  return Ok();
}

Status Ledger::PutTrials(const RunRow& run, int64_t id) {
  for (const TrialRow& trial : run.trials) {
    TRIODRILL_RETURN_IF_ERROR(database_.Run(
        "INSERT INTO trial(run, trial, sham, valid, masked, detection_low_ns, detection_high_ns, recovery_low_ns, "
        "recovery_high_ns, signal, level, evicted, collateral, missed, steps_lost, capacity, false_alarms, undo) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        {id, trial.trial, Of(trial.sham), Of(trial.valid), Of(trial.masked), Low(trial.detection),
         High(trial.detection), Low(trial.recovery), High(trial.recovery), trial.signal, trial.level, Of(trial.evicted),
         Of(trial.collateral), Of(trial.missed), Of(trial.steps_lost), Of(trial.capacity), trial.false_alarms,
         trial.undo}));
  }
  for (const ServedRow& served : run.served) {
    TRIODRILL_RETURN_IF_ERROR(
        database_.Run("INSERT INTO served(run, slot, trials) VALUES(?1, ?2, ?3)", {id, served.slot, served.trials}));
  }
  for (const SdcRow& sdc : run.sdc) {
    TRIODRILL_RETURN_IF_ERROR(database_.Run(
        "INSERT INTO sdc(run, trial, valid, slot, changed, parameters, proof, outcome, named, signal, source, raw, "
        "latency_low_ns, latency_high_ns, reports, fleet_wide, co_located) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
        {id, sdc.trial, Of(sdc.valid), sdc.slot, sdc.changed, sdc.parameters, sdc.proof, sdc.outcome, sdc.named,
         sdc.signal, sdc.source, sdc.raw, Low(sdc.latency), High(sdc.latency), sdc.reports, sdc.fleet_wide,
         sdc.co_located}));
  }
  return Ok();
}

Status Ledger::PutRun(const ToldRun& told, const std::string& at) {
  const RunRow& run = told.run;
  TRIODRILL_RETURN_IF_ERROR(PutConditions(run, told.conditions));
  TRIODRILL_RETURN_IF_ERROR(database_.Run(
      "INSERT INTO run(run_id, plan_digest, timeline_head, drill, pipeline, partition, release, tool_version, "
      "operator, host, kernel, started, quarter, verdict, outcome, headline, exit_code, undo_confirmed, "
      "planned_faulted, planned_sham, detection_deadline_ns, recovery_deadline_ns, simulated, conditions, bundle, "
      "added) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, "
      "?22, ?23, ?24, ?25, ?26)",
      {run.run_id,
       run.plan_digest,
       run.timeline_head,
       run.drill,
       run.pipeline,
       run.partition,
       run.release,
       run.tool_version,
       run.operator_name,
       run.host,
       run.kernel,
       run.started,
       QuarterNameOf(run.started),
       run.verdict,
       run.outcome,
       run.headline,
       run.exit_code,
       Of(run.undo_confirmed),
       run.planned_faulted,
       run.planned_sham,
       int64_t{run.detection_deadline.count()},
       int64_t{run.recovery_deadline.count()},
       run.simulated,
       run.conditions,
       run.bundle,
       at}));
  return PutTrials(run, database_.last_id());
}

Result<Added> Ledger::AddOne(const ToldRun& told, const std::string& at) {
  const RunRow& run = told.run;
  TRIODRILL_ASSIGN_OR_RETURN(
      Statement known,
      database_.Query("SELECT plan_digest, timeline_head, release FROM run WHERE run_id = ?1 AND drill = ?2",
                      {run.run_id, run.drill}));
  TRIODRILL_ASSIGN_OR_RETURN(const bool there, known.Next());
  if (!there) {
    TRIODRILL_RETURN_IF_ERROR(PutRun(told, at));
    return Added{Addition::kAdded, run.release};
  }
  if (known.Text(0) == run.plan_digest && known.Text(1) == run.timeline_head) {
    return Added{Addition::kAlreadyThere, known.Text(2)};
  }
  const bool plan = known.Text(0) != run.plan_digest;
  return absl::FailedPreconditionError(
      Cat("take ", run.bundle, " into the ledger: run ", run.run_id, " of ", run.drill, " is there with another ",
          plan ? "plan" : "timeline", " (", plan ? known.Text(0) : known.Text(1), ", now ",
          plan ? run.plan_digest : run.timeline_head, "); one of the two was changed: `triodrill verify` both"));
}

Result<std::vector<Added>> Ledger::Add(std::span<const ToldRun> runs, const std::string& at) {
  TRIODRILL_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  std::vector<Added> all;
  for (const ToldRun& run : runs) {
    TRIODRILL_ASSIGN_OR_RETURN(Added one, AddOne(run, at));
    all.push_back(std::move(one));
  }
  TRIODRILL_RETURN_IF_ERROR(transaction.Commit());
  return all;
}

Status Ledger::Dispose(const DispositionRow& said) {
  TRIODRILL_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  {
    TRIODRILL_ASSIGN_OR_RETURN(Statement asked, database_.Query("SELECT 1 FROM sdc WHERE id = ?1", {said.entry}));
    TRIODRILL_ASSIGN_OR_RETURN(const bool there, asked.Next());
    if (!there) {
      return absl::InvalidArgumentError(
          Cat("dispose of entry ", said.entry, ": there is none; `triodrill ledger sdc` lists them"));
    }
  }
  TRIODRILL_RETURN_IF_ERROR(
      database_.Run("INSERT INTO disposition(sdc, disposition, reason, operator, at) VALUES(?1, ?2, ?3, ?4, ?5)",
                    {said.entry, said.disposition, said.reason, said.operator_name, said.at}));
  return transaction.Commit();
}

Result<int64_t> Ledger::Add(const IncidentRow& incident) {
  TRIODRILL_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database_));
  TRIODRILL_RETURN_IF_ERROR(database_.Run(
      "INSERT INTO incident(started, detected, ended, quarter, severity, summary, drill, pipeline, release, operator, "
      "added) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
      {incident.started, incident.detected, incident.ended, QuarterNameOf(incident.started), incident.severity,
       incident.summary, incident.drill, incident.pipeline, incident.release, incident.operator_name, incident.added}));
  const int64_t id = database_.last_id();
  TRIODRILL_RETURN_IF_ERROR(transaction.Commit());
  return id;
}

Result<LedgerRows> Ledger::Read() {
  TRIODRILL_RETURN_IF_ERROR(database_.Run("BEGIN"));
  Result<LedgerRows> rows = ReadRows(database_);
  database_.Run("ROLLBACK").IgnoreError();
  return rows;
}

}  // namespace triodrill::ledger
